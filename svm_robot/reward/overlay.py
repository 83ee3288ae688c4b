"""The scores drawn under the pictures: a video a person can judge the reward by."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import av
import matplotlib as mpl
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from svm_robot.data.episodes import EpisodeData
from svm_robot.reward.score import EpisodeScores
from svm_robot.rollout.env import ImageArray
from svm_robot.rollout.episode import Outcome

logging.getLogger("libav").setLevel(logging.ERROR)

WIDTH, HEADER, PICTURES, PANEL = 960, 64, 420, 236
HEIGHT = HEADER + PICTURES + PANEL
LEFT, RIGHT, TOP, BOTTOM = 76, 250, 18, 40
"""Margins of the curve inside the panel [pixels]."""
FINE = 2
"""The curve is drawn this much larger and scaled down, for smooth lines."""
MARGIN = 1.3
"""How far the panel reaches beyond the outer grid lines."""
HOLD_S = 1.0
"""How long the last frame of an episode stays [s]."""

PAPER, INK, FAINT, GRID = (250, 250, 248), (34, 34, 34), (110, 110, 110), (220, 220, 216)
GREEN, WINE, GREY = (0, 143, 104), (136, 34, 85), (107, 107, 107)


@dataclass(frozen=True)
class Scale:
    """Where a moment and a logit lie in the panel [pixels]."""

    frames: int
    top: float
    """Largest |logit| of the outer grid lines [nats]; a margin beyond them holds the words."""

    def x(self, frame: float) -> float:
        """Column of a frame."""
        return LEFT + (WIDTH - LEFT - RIGHT) * frame / max(1, self.frames - 1)

    def y(self, logit: float) -> float:
        """Row of a logit."""
        reach = MARGIN * self.top
        return TOP + (PANEL - TOP - BOTTOM) * (reach - logit) / (2 * reach)


def choose(scores: Sequence[EpisodeScores], most: int) -> list[int]:
    """Positions of up to ``most`` episodes, successes and failures in turn, in the order recorded."""
    by = {name: [i for i, e in enumerate(scores) if e.outcome is name] for name in (Outcome.SUCCESS, Outcome.FAILURE)}
    turns = [i for pair in _in_turn(by[Outcome.SUCCESS], by[Outcome.FAILURE]) for i in pair]
    others = [i for i, e in enumerate(scores) if e.outcome not in by]
    return (turns + others)[:most]


def write_video(episodes: Sequence[EpisodeData], scores: Sequence[EpisodeScores], path: Path, rate_hz: float) -> int:
    """Draw the given episodes one after the other into ``path`` (mp4, h264); returns the number of frames."""
    top = float(np.ceil(max([2.0, *(np.abs(e.clipped).max() for e in scores)])))
    count = 0
    with av.open(str(path), "w") as container:
        stream = container.add_stream("h264", rate=Fraction(rate_hz).limit_denominator(1000))
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.options = {"crf": "18", "preset": "veryfast"}
        for episode, score in zip(episodes, scores, strict=True):
            for picture in episode_pictures(episode, score, top, hold=round(HOLD_S * rate_hz)):
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
                count += 1
        container.mux(stream.encode(None))
    return count


def episode_pictures(episode: EpisodeData, score: EpisodeScores, top: float, hold: int = 0) -> Iterator[ImageArray]:
    """(HEIGHT, WIDTH, 3) RGB for each frame, the last one ``hold`` times more."""
    for frame in range(len(episode)):
        picture = draw(episode, score, frame, Scale(len(episode), top))
        yield picture
    for _ in range(hold):
        yield picture


def draw(episode: EpisodeData, score: EpisodeScores, frame: int, scale: Scale) -> ImageArray:
    """One picture of the video: header, cameras, and the curve up to ``frame``."""
    canvas = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    _header(ImageDraw.Draw(canvas), episode, score, frame)
    _cameras(canvas, {role: pictures[frame] for role, pictures in episode.frames.items()})
    canvas.paste(_panel(score, frame, scale), (0, HEADER + PICTURES))
    return np.asarray(canvas)


def _header(pen: ImageDraw.ImageDraw, episode: EpisodeData, score: EpisodeScores, frame: int) -> None:
    said = "not labelled" if score.outcome is None else str(score.outcome)
    pen.text((24, HEADER / 2), f"episode {episode.index}", INK, _font(26, bold=True), anchor="lm")
    pen.text((210, HEADER / 2), episode.task[:48], FAINT, _font(18), anchor="lm")
    font = _font(20, bold=True)
    wide = pen.textlength(said, font)
    box = (WIDTH - 24 - wide - 32, 14, WIDTH - 24, HEADER - 14)
    pen.rounded_rectangle(box, 18, fill=_colour(score.outcome))
    pen.text(((box[0] + box[2]) / 2, HEADER / 2), said, PAPER, font, anchor="mm")
    pen.text((box[0] - 20, HEADER / 2), f"step {frame + 1} of {len(episode)}", FAINT, _font(18), anchor="rm")


def _cameras(canvas: Image.Image, frames: Mapping[str, ImageArray]) -> None:
    """Side by side, enlarged to the height there is, each with its role in the corner."""
    if not frames:
        return
    gap = 12
    room = (WIDTH - 48 - gap * (len(frames) - 1)) / sum(f.shape[1] / f.shape[0] for f in frames.values())
    tall = int(min(PICTURES - 8, room))
    sizes = {role: (round(tall * f.shape[1] / f.shape[0]), tall) for role, f in frames.items()}
    x = (WIDTH - sum(size[0] for size in sizes.values()) - gap * (len(frames) - 1)) // 2
    pen = ImageDraw.Draw(canvas)
    for role, frame in frames.items():
        top = HEADER + (PICTURES - tall) // 2
        canvas.paste(Image.fromarray(frame).resize(sizes[role], Image.Resampling.BICUBIC), (x, top))
        font = _font(16)
        pen.rounded_rectangle((x + 8, top + 8, x + 24 + pen.textlength(role, font), top + 34), 6, fill=INK)
        pen.text((x + 16, top + 21), role, PAPER, font, anchor="lm")
        x += sizes[role][0] + gap


def _panel(score: EpisodeScores, frame: int, scale: Scale) -> Image.Image:
    """The clipped logit up to now over the whole episode's time, and the calibrated P(success) in figures."""
    fine = Image.new("RGB", (WIDTH * FINE, PANEL * FINE), PAPER)
    pen = ImageDraw.Draw(fine)
    _curve(pen, score.clipped[: frame + 1].tolist(), scale)
    panel = fine.reduce(FINE)
    pen = ImageDraw.Draw(panel)
    small = _font(15)
    for value in (scale.top, 0.0, -scale.top):
        pen.text((LEFT - 10, scale.y(value)), f"{value:+.0f}" if value else "0", FAINT, small, anchor="rm")
    pen.text((LEFT + 6, TOP + 2), "looks like success", GREEN, small, anchor="lt")
    pen.text((LEFT + 6, PANEL - BOTTOM - 2), "looks like failure", WINE, small, anchor="lb")
    pen.text(
        (LEFT, PANEL - 12), "score: log odds of success [nats] over the steps of the episode", FAINT, small, anchor="lb"
    )
    now = float(score.clipped[frame])
    middle = WIDTH - RIGHT / 2 + 12
    pen.text((middle, 60), f"{now:+.1f}", GREEN if now > 0 else WINE, _font(46, bold=True), anchor="mm")
    pen.text((middle, 96), "nats", FAINT, small, anchor="mm")
    pen.text((middle, 144), percent(float(score.probability[frame])), INK, _font(34, bold=True), anchor="mm")
    pen.text((middle, 174), "P(success), calibrated", FAINT, small, anchor="mm")
    return panel


def percent(probability: float) -> str:
    """In whole per cent, and never certain."""
    if not 0.01 <= probability <= 0.99:
        return "< 1 %" if probability < 0.5 else "> 99 %"
    return f"{100 * probability:.0f} %"


def _curve(pen: ImageDraw.ImageDraw, logit: Sequence[float], scale: Scale) -> None:
    """Zero line, frame, and the step curve filled towards zero: green above, wine below. Drawn FINE times larger."""

    def at(x: float, y: float) -> tuple[float, float]:
        return x * FINE, y * FINE

    right, zero = WIDTH - RIGHT, scale.y(0)
    for value in (-scale.top, -scale.top / 2, scale.top / 2, scale.top):
        pen.line([at(LEFT, scale.y(value)), at(right, scale.y(value))], GRID, FINE)
    points = [(scale.x(i), scale.y(value)) for i, value in enumerate(logit)]
    for (x0, y0), (x1, _) in pairwise(points):
        tint = (196, 228, 218) if y0 < zero else (232, 208, 220)
        pen.rectangle([*at(x0, min(y0, zero)), *at(x1, max(y0, zero))], fill=tint)
    pen.line([at(LEFT, zero), at(right, zero)], FAINT, FINE)
    stairs = [p for (x0, y0), (x1, _) in pairwise(points) for p in (at(x0, y0), at(x1, y0))]
    stairs.append(at(*points[-1]))
    pen.line(stairs, INK, 2 * FINE, joint="curve")
    x, y = at(*points[-1])
    radius = 5 * FINE
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=GREEN if points[-1][1] < zero else WINE)


def _colour(outcome: Outcome | None) -> tuple[int, int, int]:
    return {Outcome.SUCCESS: GREEN, Outcome.FAILURE: WINE}.get(outcome, GREY) if outcome is not None else GREY


@cache
def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The typeface that comes with matplotlib, so that every machine draws the same."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / name), size)


def _in_turn(first: list[int], second: list[int]) -> Iterator[tuple[int, ...]]:
    for i in range(max(len(first), len(second))):
        yield (*first[i : i + 1], *second[i : i + 1])
