"""One HTML page that stands alone: no network, no script, every picture inside. Text is escaped by the template."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from svm_robot.data.files import publish_text
from svm_robot.report.charts import other_shapings
from svm_robot.report.collect import FREE, Comparison, flat
from svm_robot.report.examples import Example, read_examples
from svm_robot.report.honesty import honest_notes
from svm_robot.report.panels import panels
from svm_robot.report.pictures import first_and_last
from svm_robot.report.runs import Rate, Run
from svm_robot.report.style import COLOURS, NAMES, colour
from svm_robot.report.summary import measured
from svm_robot.report.verdict import headline, statements
from svm_robot.report.words import interval, percent, sentence, thousands, times
from svm_robot.version import __version__

NONE = "\u2013"
"""Shown where there is no number."""


@dataclass(frozen=True)
class Tile:
    """A success rate in large type."""

    name: str
    colour: str
    value: str
    detail: str


def write_page(
    path: Path, comparison: Comparison, examples: Sequence[Example], stages: Mapping[str, float] | None = None
) -> None:
    """Draw everything, then write ``path`` whole."""
    publish_text(render(comparison, examples, stages), path)


def render(comparison: Comparison, examples: Sequence[Example], stages: Mapping[str, float] | None = None) -> str:
    """The page as text. ``stages``: seconds of what happened around the runs (record, pretrain, ...)."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("svm_robot.report").joinpath("page.html").read_text(encoding="utf-8"))
    about = comparison.runs[0].about
    return template.render(
        headline=headline(comparison),
        statements=statements(comparison),
        tiles=list(_tiles(comparison)),
        task=sentence(str(about.get("task") or "(no task text)")),
        robot=about.get("robot_type") or "(unknown robot)",
        rate_hz=about.get("rate_hz"),
        pictures=first_and_last(examples),
        done=list(_done(comparison, stages or {})),
        panels=panels(comparison, examples, stages),
        notes=honest_notes(comparison),
        rows=[_row(run) for run in comparison.runs],
        settings=_settings(comparison),
        versions=about.get("versions") or {},
        version=__version__,
    )


def kept_examples(comparison: Comparison) -> list[Example]:
    """The examples the page shows, read from the run folders; svm runs are asked first."""
    return choose_examples([example for run in comparison.runs for example in read_examples(run.folder)])


def choose_examples(found: Sequence[Example]) -> list[Example]:
    """The latest success and the latest failure among examples given in order of preference between runs."""
    chosen = []
    for outcome in ("success", "failure"):
        for phase in ("late", "middle", "early"):
            fitting = [e for e in found if e.outcome == outcome and e.phase == phase and e.frames]
            if fitting:
                chosen.append(fitting[0])
                break
    return chosen


def _tiles(comparison: Comparison) -> Iterator[Tile]:
    for rate, name in ((comparison.base, "base"), (comparison.zero_noise, "zero")):
        yield _tile(NAMES[name], COLOURS[name], rate, "no finetuning")
    for group in comparison.groups:
        ink = colour(group.shaping, other_shapings(comparison))
        seeds = f"{len(group.runs)} seed{'s' if len(group.runs) != 1 else ''}"
        yield _tile(NAMES.get(group.shaping, group.shaping), ink, group.judged, f"{seeds}, {measured(group)}")


def _tile(name: str, ink: str, rate: Rate | None, detail: str) -> Tile:
    if rate is None or not rate.episodes:
        return Tile(name, ink, NONE, "not measured")
    counts = f"{rate.successes} of {rate.episodes} episodes"
    return Tile(name, ink, percent(rate.value), f"{interval(rate)} · {counts} · {detail}")


def _done(comparison: Comparison, stages: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """What happened, as (stage, what was used)."""
    for stage, seconds in stages.items():
        yield stage, f"{seconds:.0f} s"
    for rate, name in ((comparison.base, "sampled"), (comparison.zero_noise, "zero")):
        if rate is not None:
            yield f"base measured, {name} noise", f"{rate.episodes} episodes"
    for run in comparison.runs:
        used = f"{len(run.episodes)} training episodes, {thousands(run.env_steps)} environment steps"
        offline = run.about.get("offline_steps")
        if offline:
            used += f" (of these {thousands(float(offline))} recorded before)"
        used += f", {run.robot_minutes:.1f} robot minutes"
        if run.evaluations:
            used += f"; evaluated {times(len(run.evaluations))}"
        yield f"finetuned: {NAMES.get(run.shaping, run.shaping)}, seed {run.seed}", used


def _row(run: Run) -> dict[str, str]:
    last = run.last
    outcomes = [e.outcome for e in run.episodes]
    return {
        "run": run.name,
        "reward": NAMES.get(run.shaping, run.shaping),
        "seed": str(run.seed),
        "success": "not evaluated"
        if last is None
        else f"{percent(last.rate.value)}, {last.successes} of {last.episodes}",
        "interval": "" if last is None else f"({interval(last.rate)})",
        "reached": "not reached" if run.reached is None else thousands(run.reached.env_steps),
        "steps": thousands(run.env_steps),
        "minutes": f"{run.robot_minutes:.1f}",
        "episodes": f"{outcomes.count('success')} / {outcomes.count('failure')} / "
        f"{len(outcomes) - outcomes.count('success') - outcomes.count('failure')}",
        "length": NONE if last is None or not isfinite(last.mean_steps) else f"{last.mean_steps:.0f}",
        "state": run.state + (f", resumed {times(run.starts - 1)}" if run.starts > 1 else ""),
    }


def _settings(comparison: Comparison) -> list[tuple[str, str]]:
    """Configuration by dotted name; where runs differ, all values."""
    configs: list[Mapping[str, Any]] = [flat(run.about.get("config") or {}) for run in comparison.runs]
    shared = [(key, str(comparison.runs[0].about.get(key))) for key in ("policy", "reward")]
    names = sorted({key for config in configs for key in config if key.split(".")[-1] not in FREE})
    return shared + [(name, " · ".join(dict.fromkeys(str(c.get(name)) for c in configs))) for name in names]
