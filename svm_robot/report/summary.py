"""``summary.json``: the figures of a comparison for programs. Written whole, then published."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svm_robot.data.files import publish_json
from svm_robot.errors import DataError
from svm_robot.report.collect import Comparison, Group
from svm_robot.report.runs import REACHED, Evaluation, Rate, Run

VERSION = 1


def write_summary(path: Path, comparison: Comparison, stages: Mapping[str, float] | None = None) -> None:
    """Write ``summary(...)`` to ``path`` as JSON; a reader never sees half a file."""
    publish_json(summary(comparison, stages), path, indent=2)


def summary(comparison: Comparison, stages: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Plain JSON values. ``stages``: seconds of what happened around the runs (record, pretrain, ...)."""
    shapings = {group.shaping: _group(group) for group in comparison.groups}
    return {
        "version": VERSION,
        "base": _rate(comparison.base),
        "zero_noise": _rate(comparison.zero_noise),
        "svm": None,
        "outcome": None,
        **shapings,
        "env_steps": {run.name: run.env_steps for run in comparison.runs},
        "robot_minutes": {run.name: round(run.robot_minutes, 3) for run in comparison.runs},
        "seconds_by_stage": {
            **(stages or {}),
            **{f"finetune {run.name}": dict((run.end or {}).get("seconds_by_stage") or {}) for run in comparison.runs},
        },
        "not_comparable": list(comparison.differences),
        "config": {run.name: run.about.get("config") for run in comparison.runs},
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        **(_rate(group.judged) or {}),
        "measured": measured(group),
        "per_seed": [_run(run) for run in group.runs],
    }


def measured(group: Group) -> str:
    """Which episodes the group's rate counts, in words."""
    if group.judged is None:
        return "not evaluated"
    return "fresh episodes of the kept checkpoint" if group.checked_afresh else "last evaluation of each run"


def _run(run: Run) -> dict[str, Any]:
    last, reached = run.last, run.reached
    return {
        "run": run.name,
        "seed": run.seed,
        "state": run.state,
        **(_rate(last.rate if last else None) or {}),
        "env_steps": run.env_steps,
        "robot_minutes": round(run.robot_minutes, 3),
        f"reached_{REACHED:.0%}": _when(reached),
        "evaluations": [{**(_rate(e.rate) or {}), **(_when(e) or {})} for e in run.evaluations],
        "training_episodes": len(run.episodes),
    }


def _when(evaluation: Evaluation | None) -> dict[str, float] | None:
    if evaluation is None:
        return None
    return {"env_steps": evaluation.env_steps, "robot_minutes": round(evaluation.robot_minutes, 3)}


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None or not rate.episodes:
        return None
    return {
        "successes": rate.successes,
        "episodes": rate.episodes,
        "rate": round(rate.value, 4),
        "low": round(rate.low, 4),
        "high": round(rate.high, 4),
    }


def read_stages(path: Path) -> dict[str, float]:
    """Seconds per stage from a JSON file ``{"record": 14.5, ...}``. Raises ``DataError`` when it is something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in content.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a JSON object of stage names and seconds ({error})") from error
