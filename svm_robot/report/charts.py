"""How well the robot does: success and episode length over what was spent. Each function draws one figure."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from svm_robot.report.collect import Comparison, Group
from svm_robot.report.runs import REACHED, Rate, Run
from svm_robot.report.style import (
    COLOURS,
    NAMES,
    WIDTH_IN,
    colour,
    label,
    legend_above,
    percent_axis,
    rolling,
    scaled,
    steps_axis,
    styled,
)

Points = Callable[[Run], Sequence[Any]]
Series = Callable[[Any], float]
WINDOW, LEAST = 20, 10
"""Training success and length are means over the last 20 episodes, shown from the 10th on."""


@styled
def success_chart(comparison: Comparison) -> Figure:
    """Evaluated success over environment steps (and robot minutes) with Wilson bands, beside the untrained base."""
    figure = Figure(figsize=(WIDTH_IN, 4.9))
    axes = figure.subplots()
    for rate, name, dashes in ((comparison.base, "base", (4, 3)), (comparison.zero_noise, "zero", (1, 1.6))):
        if rate is not None and rate.episodes:
            _level(axes, rate, name, dashes)
    others = other_shapings(comparison)
    for group in comparison.groups:
        _success_lines(axes, group, colour(group.shaping, others))
    axes.axhline(REACHED, color="#bbbbbb", linewidth=0.9, zorder=0.5)
    percent_axis(axes)
    steps_axis(axes)
    _minutes_below(axes, comparison)
    axes.set_ylabel("success in evaluation episodes")
    legend_above(figure, axes, columns=2)
    return figure


def _level(axes: Axes, rate: Rate, name: str, dashes: tuple[float, float]) -> None:
    axes.axhspan(rate.low, rate.high, color=COLOURS[name], alpha=0.10, linewidth=0)
    axes.axhline(rate.value, color=COLOURS[name], linewidth=1.6, linestyle=(0, dashes), label=NAMES[name])


def _success_lines(axes: Axes, group: Group, ink: str) -> None:
    """Thin: each seed. Thick: mean over seeds. Band: Wilson interval of all episodes at that point together."""
    points = group.pooled
    steps = [point.env_steps for point in points]
    name = label(group.shaping, len(group.runs))
    if len(group.runs) > 1:
        for run in group.runs:
            axes.plot(*_evaluated(run), color=ink, linewidth=1.0, alpha=0.5, marker=".", markersize=4)
    if not points:
        for run in group.runs[:1]:
            axes.plot(*_evaluated(run), color=ink, linewidth=1.0, label=name)
        return
    axes.fill_between(
        steps, [p.rate.low for p in points], [p.rate.high for p in points], color=ink, alpha=0.15, linewidth=0
    )
    axes.plot(steps, [p.mean_rate for p in points], color=ink, linewidth=2.6, marker="o", markersize=6, label=name)


def _evaluated(run: Run) -> tuple[list[int], list[float]]:
    return [e.env_steps for e in run.evaluations], [e.rate.value for e in run.evaluations]


def _minutes_below(axes: Axes, comparison: Comparison) -> None:
    """A second axis in robot minutes, when all runs share one control rate."""
    rates = {float(run.about.get("rate_hz") or 0) for run in comparison.runs}
    if len(rates) != 1 or 0.0 in rates:
        return
    per_minute = 60 * rates.pop()
    minutes = axes.secondary_xaxis(-0.2, functions=scaled(per_minute))
    minutes.set_xlabel("robot minutes")
    minutes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@styled
def online_chart(comparison: Comparison) -> Figure | None:
    """Success of the training episodes themselves, which explore; None when no run has enough of them."""
    figure = Figure(figsize=(WIDTH_IN, 3.6))
    axes = figure.subplots()
    drawn = run_lines(axes, comparison, lambda run: run.decided, lambda e: float(e.outcome == "success"), WINDOW, LEAST)
    percent_axis(axes)
    return _finished(figure, axes, "success") if drawn else None


@styled
def length_chart(comparison: Comparison) -> Figure | None:
    """Control steps per training episode: loitering shows here first."""
    figure = Figure(figsize=(WIDTH_IN, 3.3))
    axes = figure.subplots()
    drawn = run_lines(axes, comparison, lambda run: run.episodes, lambda e: float(e.steps), WINDOW, LEAST)
    axes.set_ylim(bottom=0)
    return _finished(figure, axes, "control steps") if drawn else None


def _finished(figure: Figure, axes: Axes, what: str) -> Figure:
    steps_axis(axes)
    axes.set_ylabel(f"{what}, last {WINDOW} episodes")
    legend_above(figure, axes)
    return figure


def run_lines(
    axes: Axes, comparison: Comparison, points: Points, series: Series, window: int = 1, least: int = 1
) -> bool:
    """One line per run in its group's colour, the mean of the last ``window`` points.

    A run with fewer than ``least`` numbers is left out. True when anything was drawn.
    """
    others, drawn = other_shapings(comparison), False
    for group in comparison.groups:
        named = False
        for run in group.runs:
            values = np.array([series(point) for point in points(run)], np.float64)
            if np.isfinite(values).sum() < least:
                continue
            axes.plot(
                [point.env_steps for point in points(run)],
                rolling(values, window, least),
                color=colour(group.shaping, others),
                linewidth=1.6,
                alpha=0.85,
                label=None if named else label(group.shaping, len(group.runs)),
            )
            named = drawn = True
    return drawn


def other_shapings(comparison: Comparison) -> list[str]:
    """Reward forms without a colour of their own."""
    return [group.shaping for group in comparison.groups if group.shaping not in COLOURS]
