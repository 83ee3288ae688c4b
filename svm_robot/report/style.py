"""One look for all charts: colours that colour-blind readers can tell apart, thin grid, SVG inside the page."""

import base64
import io
from collections.abc import Callable
from functools import wraps
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from svm_robot.report.words import percent, thousands

BLUE, ORANGE, GREY, PURPLE, GREEN, WINE, BLACK = (
    "#0072B2",
    "#D55E00",
    "#6B6B6B",
    "#AA4499",
    "#008F68",
    "#882255",
    "#222222",
)  # after Okabe & Ito, and Tol
COLOURS = {"svm": BLUE, "outcome": ORANGE, "base": GREY, "zero": PURPLE, "success": GREEN, "failure": WINE}
OTHERS = ("#56B4E9", "#B8860B", "#332288", "#44AA99")
NAMES = {
    "svm": "SVM reward",
    "outcome": "outcome only",
    "base": "base, sampled noise",
    "zero": "base, zero noise",
}
WIDTH_IN = 9.0
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.labelsize": 10,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "#9a9a9a",
    "axes.labelcolor": "#333333",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "svg.hashsalt": "svm_robot",
    "svg.fonttype": "path",
}


def styled[**P, R](draw: Callable[P, R]) -> Callable[P, R]:
    """Draw under ``STYLE`` whatever the user's own matplotlib settings are, and leave those alone."""

    @wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(STYLE)
            return draw(*args, **kwargs)

    return inside


@styled
def svg_uri(figure: Figure) -> str:
    """The figure as a ``data:`` address; the same figure always gives the same text."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def colour(shaping: str, others: list[str] | None = None) -> str:
    """Fixed for the known names; further reward forms take the next free colour."""
    if shaping in COLOURS:
        return COLOURS[shaping]
    return OTHERS[(others or [shaping]).index(shaping) % len(OTHERS)]


def label(shaping: str, seeds: int) -> str:
    """``SVM reward (2 seeds)``."""
    return f"{NAMES.get(shaping, shaping)} ({seeds} seed{'s' if seeds != 1 else ''})"


def percent_axis(axes: Axes) -> None:
    """Success rates: 0 to 100 %, with a little room so that lines at the ends can be seen."""
    axes.set_ylim(-0.02, 1.03)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))


def steps_axis(axes: Axes) -> None:
    """Environment steps, with a thin space between thousands."""
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: thousands(value)))
    axes.set_xlabel("environment steps (control steps the method has used)")


def legend_above(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """A legend in a row over the chart, where it hides no line."""
    handles, names = axes.get_legend_handles_labels()
    axes.legend(handles, names, loc="lower left", bbox_to_anchor=(-0.01, 1.01), ncols=columns, borderaxespad=0.2)
    figure.set_layout_engine("constrained")


def scaled(factor: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """There and back, for a second axis in another unit: divided by ``factor``, times ``factor``."""
    return (lambda value: value / factor), (lambda value: value * factor)


def rolling(values: NDArray[np.float64], window: int, least: int) -> NDArray[np.float64]:
    """Mean over the last ``window`` finite values, NaN until ``least`` of them are there. (T,) -> (T,)."""
    result = np.full(len(values), np.nan)
    for end in range(1, len(values) + 1):
        recent = values[max(0, end - window) : end]
        recent = recent[np.isfinite(recent)]
        if len(recent) >= min(least, window):
            result[end - 1] = recent.mean()
    return result
