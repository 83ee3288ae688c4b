"""What a review looks like in a terminal: where the pictures stand, and the lines of text around them."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from svm_robot.curation.review.review import Review

HEAD, FOOT = 2, 3
"""Lines above and below the pictures."""
CAPTION = 1
"""Line above each picture with the camera's name."""
GAP = 1
"""Columns between two pictures."""
LEAST = (24, 10)
"""Columns and lines below which nothing can be seen."""
KEYS = (
    "s success  f failure  u unsure  a aborted  t tags  z undo | n next  p previous  q quit | "
    "space pause  \u2190 \u2192 frame  + - speed  c camera",
    "s success f failure u unsure a aborted t tags z undo n p q | space \u2190\u2192 +- c",
)
"""For a wide terminal, and for others."""
COLOURS = {"success": 32, "failure": 31, "unsure": 33, "aborted": 35}


@dataclass(frozen=True)
class Panel:
    """Where one camera's picture goes; the first line and column are 0."""

    role: str
    line: int
    column: int
    height: int
    """Pixels, even: two in each line."""
    width: int


def arrange(columns: int, lines: int, cameras: Mapping[str, tuple[int, int]]) -> list[Panel]:
    """Side by side, or in rows where that shows more; role -> (height, width) are scaled by one factor."""
    if not cameras or columns < LEAST[0] or lines < LEAST[1]:
        return []
    layouts = [in_rows(rows, columns, lines - HEAD - FOOT, cameras) for rows in range(1, len(cameras) + 1)]
    return max(layouts, key=lambda panels: sum(panel.height * panel.width for panel in panels))


def in_rows(rows: int, columns: int, lines: int, cameras: Mapping[str, tuple[int, int]]) -> list[Panel]:
    """Panels in this many rows; pixels are as wide as a column and as high as half a line."""
    across = -(-len(cameras) // rows)
    cell_width, cell_lines = (columns - GAP * (across - 1)) // across, lines // rows
    panels = []
    for number, (role, (height, width)) in enumerate(cameras.items()):
        scale = min(cell_width / width, 2 * (cell_lines - CAPTION) / height)
        pixels = max(2, round(scale * height) // 2 * 2)
        line = HEAD + (number // across) * cell_lines + CAPTION
        column = (number % across) * (cell_width + GAP)
        panels.append(Panel(role, line, column, pixels, max(1, min(cell_width, round(scale * width)))))
    return panels


def seen(cameras: Mapping[str, tuple[int, int]], choice: int) -> Mapping[str, tuple[int, int]]:
    """All cameras (choice 0), or one alone and larger; after the last one all of them again."""
    turn = choice % (len(cameras) + 1) if len(cameras) > 1 else 0
    return {role: size for number, (role, size) in enumerate(cameras.items(), start=1) if turn in (0, number)}


def texts(review: Review, frame: int, task: str, columns: int, lines: int) -> dict[int, str]:
    """Line -> text, with colours."""
    return {
        0: head(review),
        1: f"\x1b[2m{plain(task)}\x1b[22m",
        lines - 3: foot(review, frame),
        lines - 2: f"\x1b[1m{plain(review.message)}\x1b[22m" if review.typed is None else prompt(review.typed),
        lines - 1: f"\x1b[2m{KEYS[columns <= len(KEYS[0])]}\x1b[22m",
    }


def head(review: Review) -> str:
    """Which episode, and what is said of it."""
    said, label = review.standing, review.standing.label
    colour = COLOURS.get(str(said.outcome), 36)
    text = f"\x1b[1mepisode {review.episode.index}\x1b[22m ({review.position + 1} of {len(review.queue)})"
    text += f"  \x1b[1;{colour}m{said.outcome or 'unlabelled'}\x1b[22;39m"
    if label is None:
        return text + ("  as recorded" if said.outcome else "")
    text += f"  by {plain(label.by)}, {day(label.time)}"
    text += f", {said.history} lines of history" if said.history > 1 else ""
    text += f", tags {plain(', '.join(label.tags))}" if label.tags else ""
    return text + (f": {plain(label.reason)}" if label.reason else "")


def foot(review: Review, frame: int) -> str:
    """How far the review is, and the film."""
    player = review.player
    state = "" if player.playing else ", paused"
    seconds = frame / player.rate_hz
    return f"{review.progress} | frame {frame + 1}/{player.frames}, {seconds:.1f} s, x{player.speed:g}{state}"


def prompt(typed: str) -> str:
    """The line where tags are typed."""
    return f"tags, with commas between them: \x1b[7m{plain(typed)} \x1b[27m  (Enter keeps them, Esc does not)"


def captions(panels: Sequence[Panel], troubles: Mapping[str, str]) -> dict[tuple[int, int], str]:
    """(line, column) -> a camera's name, and why its picture is missing."""
    found = {}
    for panel in panels:
        text = panel.role + (f": {troubles[panel.role]}" if panel.role in troubles else "")
        found[panel.line - CAPTION, panel.column] = plain(text)[: panel.width].ljust(panel.width)
    return found


def plain(text: str) -> str:
    """Without characters that move the cursor or worse: a task or a reason may come from anywhere."""
    return "".join(c if unicodedata.category(c)[0] != "C" else "?" for c in text)


def day(time_s: float) -> str:
    """The date of a label (UTC)."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d")
