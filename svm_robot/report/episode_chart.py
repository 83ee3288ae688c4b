"""The score along one episode, with what the cameras saw below the curve, picture under its moment."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from svm_robot.report.examples import Example
from svm_robot.report.filmstrip import shrink
from svm_robot.report.style import COLOURS, WIDTH_IN, styled

ROOM = 0.085, 0.985
"""Left and right edge of the axes, as a share of the figure's width."""
FEWEST = 7
"""Fewer pictures than this are not drawn larger, they leave room at the right."""
TALLEST = 160
"""Pictures are drawn at most this high [pixels], so that the page stays small."""
MOST = 9
"""Pictures side by side; more would be too small to see anything."""


@styled
def episode_chart(example: Example) -> Figure:
    """Curve of the logit above, one row of pictures per camera below; both share the axis of control steps."""
    roles = list(example.frames)
    places = _places(example)
    width_in = (ROOM[1] - ROOM[0]) * WIDTH_IN / max(FEWEST, len(places))
    heights = [width_in * example.frames[role].shape[1] / example.frames[role].shape[2] for role in roles]
    curve_in = 2.0 if example.scored else 0.0
    total = curve_in + (0.75 if example.scored else 0.0) + sum(heights) + 0.06 * len(roles)
    figure = Figure(figsize=(WIDTH_IN, total))
    bottom = 1.0
    if example.scored:
        bottom = 1 - (curve_in + 0.1) / total
        _curve(figure.add_axes((ROOM[0], bottom, ROOM[1] - ROOM[0], curve_in / total)), example, places)
        bottom -= 0.58 / total
    for role, height in zip(roles, heights, strict=True):
        bottom -= height / total
        _row(figure, example, role, places, (bottom, height / total))
        bottom -= 0.06 / total
    return figure


def _places(example: Example) -> list[int]:
    """Which of the pictures are drawn: evenly spaced, the last one always."""
    count = len(example.frame_step)
    return sorted({int(p) for p in np.linspace(0, count - 1, min(count, MOST)).round()}) if count else []


def _curve(axes: Axes, example: Example, places: list[int]) -> None:
    ink = COLOURS[str(example.outcome)]
    axes.axhline(0, color="#777777", linewidth=1)
    axes.fill_between(example.decision_step, 0, example.logit, color=ink, alpha=0.12, linewidth=0)
    axes.plot(example.decision_step, example.logit, color=ink, linewidth=2, marker="o", markersize=4)
    for step in example.frame_step[places]:
        axes.axvline(step, color="#bbbbbb", linewidth=0.8, linestyle=(0, (2, 3)), zorder=0.5)
    axes.grid(axis="x", visible=False)
    axes.set_xlim(-0.5, max(example.steps, 1) + 0.5)
    axes.set_xlabel("control step", labelpad=1)
    axes.set_ylabel("failure \u2190 logit [nats] \u2192 success", fontsize=9)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -1.0), max(high, 1.0))


def _row(figure: Figure, example: Example, role: str, places: list[int], room: tuple[float, float]) -> None:
    """One camera: equal pictures from left to right, each marked with its control step."""
    pictures = [shrink(example.frames[role][place], TALLEST) for place in places]
    gap = max(1, pictures[0].shape[1] // 40)
    width = (ROOM[1] - ROOM[0]) * len(places) / max(FEWEST, len(places))
    axes = figure.add_axes((ROOM[0], room[0], width, room[1]))
    padded = [np.pad(picture, ((0, 0), (0, gap), (0, 0)), constant_values=255) for picture in pictures]
    axes.imshow(np.concatenate(padded, axis=1)[:, :-gap], interpolation="nearest", aspect="auto")
    axes.set_axis_off()
    figure.text(ROOM[0] - 0.012, room[0] + room[1] / 2, role, rotation=90, ha="center", va="center", fontsize=9)
    for column, place in enumerate(places):
        axes.text(
            column * padded[0].shape[1] + 1.5 * gap, 1.5 * gap, f"{example.frame_step[place]}", ha="left", va="top",
            fontsize=7.5, color="white", bbox={"facecolor": "#222222", "alpha": 0.65, "pad": 1.5, "linewidth": 0},
        )  # fmt: skip
