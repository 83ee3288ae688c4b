"""Runs side by side: grouped by shaping over seeds, with what makes them comparable and what does not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from svm_robot.errors import DataError
from svm_robot.report.runs import FINISHED, Rate, Run, read_run

ORDER = ("svm", "outcome")
SHARED = ("identity.policy", "identity.reward", "task", "robot_type", "rate_hz", "offline_steps")
"""What compared runs must have in common, beside the configuration. Models by fingerprint: a path may be reused."""
FREE = ("shaping", "seed", "run", "resume")
"""Configuration that may differ between runs that are compared."""


@dataclass(frozen=True)
class PooledPoint:
    """The k-th evaluation of every seed, taken together."""

    env_steps: float
    rate: Rate
    mean_rate: float
    """Mean of the seeds' rates (each seed counts once)."""


@dataclass(frozen=True)
class Group:
    """All runs with one reward form."""

    shaping: str
    runs: Sequence[Run]

    @property
    def judged(self) -> Rate | None:
        """Pooled over seeds: final check or last evaluation of each run; None when no run was evaluated."""
        rates = [run.last.rate for run in self.runs if run.last is not None]
        return sum(rates, Rate(0, 0)) if rates else None

    @property
    def checked_afresh(self) -> bool:
        """True when every run was checked with fresh episodes after it ended."""
        return all(run.final is not None and run.last is run.final for run in self.runs)

    @property
    def pooled(self) -> list[PooledPoint]:
        """One point per evaluation that ALL seeds have, so that no seed drops out on the way."""
        columns = zip(*(run.evaluations for run in self.runs), strict=False)
        return [
            PooledPoint(
                env_steps=fmean(e.env_steps for e in column),
                rate=sum((e.rate for e in column), Rate(0, 0)),
                mean_rate=fmean(e.rate.value for e in column),
            )
            for column in columns
            if all(e.episodes for e in column)
        ]


@dataclass(frozen=True)
class Comparison:
    """What the report shows. Pure values; nothing here reads a file."""

    groups: Sequence[Group]
    """svm first, then outcome, then others by name; each with its runs by seed."""
    base: Rate | None
    """The pretrained policy with sampled noise; None when no run measured it."""
    zero_noise: Rate | None
    """The pretrained policy with zero noise: no training at all, and what steering has to beat."""
    differences: Sequence[str]
    """Why the runs are not quite comparable, in words; empty when they are."""

    @property
    def runs(self) -> list[Run]:
        return [run for group in self.groups for run in group.runs]

    def group(self, shaping: str) -> Group | None:
        return next((group for group in self.groups if group.shaping == shaping), None)


def collect(folders: Sequence[Path]) -> Comparison:
    """Read the runs. Raises ``DataError`` for none, for the same folder twice, and for a folder that is no run."""
    if not folders:
        raise DataError("no run given (a run is a folder that 'svm-robot finetune' wrote)")
    real = [folder.resolve() for folder in folders]
    twice = sorted({folder.name for folder in real if real.count(folder) > 1})
    if twice:
        raise DataError(f"the same run was given twice: {', '.join(twice)}")
    return compare([read_run(folder) for folder in folders])


def compare(runs: Sequence[Run]) -> Comparison:
    """Group runs and pool their baselines."""
    found = {run.shaping for run in runs}
    names = [name for name in ORDER if name in found] + sorted(found - set(ORDER))
    by_seed = sorted(runs, key=lambda run: (run.seed, run.name))
    groups = [Group(name, [run for run in by_seed if run.shaping == name]) for name in names]
    return Comparison(
        groups=groups,
        base=_baseline(runs, "sampled"),
        zero_noise=_baseline(runs, "zero"),
        differences=list(_differences(runs)),
    )


def _baseline(runs: Sequence[Run], noise: str) -> Rate | None:
    """Pool a baseline over DIFFERENT measurements: runs with one seed share theirs, and identical ones count once."""
    seen: dict[tuple[str, object], Rate] = {}
    for run in runs:
        event = run.baselines.get(noise)
        if event is not None:
            key = (str(flat(run.about).get("identity.policy")), event.get("first_seed", run.seed))
            seen.setdefault(key, Rate(int(event["successes"]), int(event["episodes"])))
    pooled = sum(seen.values(), Rate(0, 0))
    return pooled if pooled.episodes else None


def _differences(runs: Sequence[Run]) -> Iterable[str]:
    abouts = [flat(run.about) for run in runs]
    for key in SHARED:
        values = sorted({str(about.get(key)) for about in abouts})
        if len(values) > 1:
            yield f"{key.removeprefix('identity.')} differs: {', '.join(values)}"
    configs = [flat(run.about.get("config") or {}) for run in runs]
    for key in sorted({key for config in configs for key in config}):
        values = sorted({str(config.get(key)) for config in configs})
        if len(values) > 1 and key.split(".")[-1] not in FREE:
            yield f"configuration {key} differs: {', '.join(values)}"
    seeds = {group: sorted(run.seed for run in runs if run.shaping == group) for group in {r.shaping for r in runs}}
    if len({tuple(found) for found in seeds.values()}) > 1:
        yield "the seeds differ: " + ", ".join(f"{group} {found}" for group, found in sorted(seeds.items()))
    for run in runs:
        if run.state != FINISHED:
            yield f"{run.name} did not finish: {run.state}"


def flat(config: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested configuration as dotted names."""
    found: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found
