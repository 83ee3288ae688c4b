"""What the networks do meanwhile: discriminator, visitation gap, learner, seconds. Each function draws one figure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from svm_robot.report.charts import Series, run_lines
from svm_robot.report.collect import Comparison
from svm_robot.report.runs import Run
from svm_robot.report.style import COLOURS, WIDTH_IN, legend_above, scaled, steps_axis, styled


@styled
def discriminator_chart(comparison: Comparison) -> Figure | None:
    """Left: can it tell a new episode's outcome before training on it. Right: where the two kinds of episode lie."""
    figure = Figure(figsize=(WIDTH_IN, 3.7))
    left, right = figure.subplots(1, 2)
    drawn = run_lines(left, comparison, lambda run: run.discriminator, lambda p: p.auc_recent)
    left.axhline(0.5, color="#999999", linewidth=1, linestyle=(0, (4, 3)))
    left.set_title("telling new episodes apart (AUC)")
    low, high = left.get_ylim()
    left.set_ylim(min(0.45, low), max(1.01, high))
    for ends, styles in (("success", "solid"), ("failure", (0, (5, 2)))):
        for group in comparison.groups:
            for run in group.runs:
                drawn |= _logits(right, run, ends, styles, group.shaping == comparison.groups[0].shaping)
    right.axhline(0, color="#999999", linewidth=1)
    right.set_title("mean logit [nats]")
    for axes in (left, right):
        _short_steps(axes)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=4)
    kinds = named_once(right)
    right.legend(list(kinds.values()), list(kinds), loc="center right")
    figure.set_layout_engine("constrained")
    return figure if drawn else None


def _logits(axes: Axes, run: Run, ends: str, style: Any, first: bool) -> bool:
    values = np.array([getattr(p, f"mean_logit_{ends}") for p in run.discriminator], np.float64)
    if not np.isfinite(values).any():
        return False
    axes.plot(
        [p.env_steps for p in run.discriminator],
        values,
        color=COLOURS[ends],
        linestyle=style,
        linewidth=1.8 if first else 0.9,
        alpha=0.95 if first else 0.5,
        label="successful episodes" if ends == "success" else "failed episodes",
    )
    return True


@styled
def gap_chart(comparison: Comparison) -> Figure | None:
    """The visitation gap, formula (7): how much nearer to success than to failure the policy's own episodes lie."""
    figure = Figure(figsize=(WIDTH_IN, 3.7))
    axes = figure.subplots()
    drawn = run_lines(axes, comparison, lambda run: run.discriminator, lambda p: p.visitation_gap_nats)
    axes.axhline(0, color="#777777", linewidth=1)
    axes.set_ylabel("nats per decision")
    chunk = chunk_length(comparison)
    if chunk is not None and chunk > 1:
        per_step = axes.secondary_yaxis("right", functions=scaled(chunk))
        per_step.set_ylabel(f"nats per control step ({chunk} steps a decision)")
    steps_axis(axes)
    legend_above(figure, axes)
    return figure if drawn else None


@styled
def learner_chart(comparison: Comparison) -> Figure | None:
    """Four small charts that tell a healthy learner from a diverging one."""
    figure = Figure(figsize=(WIDTH_IN, 5.4))
    grid = figure.subplots(2, 2)
    drawn = False
    for axes, (title, series) in zip(grid.flat, LEARNER.items(), strict=True):
        drawn |= run_lines(axes, comparison, lambda run: run.learner, series, window=5)
        axes.set_title(title)
        _short_steps(axes)
    handles, names = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=4)
    figure.set_layout_engine("constrained")
    return figure if drawn else None


LEARNER: dict[str, Series] = {
    "expected return (mean Q)": lambda p: float(p.q_mean),
    "entropy of the steering noise [nats]": lambda p: float(p.entropy),
    "KL to the base noise [nats per decision]": lambda p: float(p.kl_nats),
    "mean reward of a training batch": lambda p: float(p.reward_mean),
}


@styled
def seconds_chart(bars: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> Figure | None:
    """One bar per run (or for the stages around them), split into named parts. ``bars``: (name, [(part, seconds)])."""
    bars = [(name, parts) for name, parts in bars if parts]
    if not bars:
        return None
    figure = Figure(figsize=(WIDTH_IN, 1.2 + 0.42 * len(bars)))
    axes = figure.subplots()
    kinds = list(dict.fromkeys(part for _, parts in bars for part, _ in parts))
    for row, (_, parts) in enumerate(bars):
        start = 0.0
        for part, seconds in parts:
            axes.barh(
                row,
                seconds,
                left=start,
                height=0.62,
                color=SHADES[kinds.index(part) % len(SHADES)],
                edgecolor="white",
                label=part,
            )
            start += seconds
        axes.text(start, row, f" {start:.0f} s", va="center", ha="left", fontsize=9, color="#333333")
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds of wall-clock time")
    axes.margins(x=0.08)
    parts_drawn = named_once(axes)
    figure.legend(list(parts_drawn.values()), list(parts_drawn), loc="outside upper left", ncols=8, columnspacing=1.2)
    figure.set_layout_engine("constrained")
    return figure


SHADES = ("#0072B2", "#E69F00", "#56B4E9", "#CC79A7", "#009E73", "#999999", "#D55E00", "#F0E442", "#332288", "#88CCEE")


def named_once(axes: Axes) -> dict[str, Artist]:
    """Legend entries without repeats, in the order they were drawn."""
    entries: dict[str, Artist] = {}
    for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
        entries.setdefault(str(name), handle)
    return entries


def chunk_length(comparison: Comparison) -> int | None:
    """Control steps per decision, when the runs agree on it."""
    found: set[int | None] = {run.about.get("chunk") for run in comparison.runs}
    return found.pop() if len(found) == 1 else None


def _short_steps(axes: Axes) -> None:
    steps_axis(axes)
    axes.set_xlabel("environment steps")
