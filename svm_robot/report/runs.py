"""One run, read from its journal into plain values. What is missing stays missing (NaN, None); nothing is guessed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import nan
from pathlib import Path
from typing import Any

from svm_robot.data.journal import FILE, read_journal
from svm_robot.errors import DataError
from svm_robot.stats import wilson

Event = Mapping[str, Any]
REACHED = 0.8
"""Success rate whose first evaluation counts as "reached"."""

FINISHED = "finished"


@dataclass(frozen=True)
class Rate:
    """Successes among episodes; never shown without its Wilson interval (95 %)."""

    successes: int
    episodes: int

    @property
    def value(self) -> float:
        """NaN when nothing was tried."""
        return self.successes / self.episodes if self.episodes else nan

    @property
    def low(self) -> float:
        return wilson(self.successes, self.episodes)[0]

    @property
    def high(self) -> float:
        return wilson(self.successes, self.episodes)[1]

    def __add__(self, other: "Rate") -> "Rate":
        return Rate(self.successes + other.successes, self.episodes + other.episodes)


@dataclass(frozen=True)
class EpisodePoint:
    """One training episode. ``env_steps`` and ``robot_minutes`` count everything used up to its end."""

    episode: int
    env_steps: int
    robot_minutes: float
    outcome: str
    steps: int


@dataclass(frozen=True)
class DiscriminatorPoint:
    env_steps: int
    auc_recent: float
    """Prequential: each episode scored before it was trained on; over the last 60."""
    auc_recent_first: float
    """The same for the first few decisions of each episode, the hard ones."""
    mean_logit_success: float
    mean_logit_failure: float
    visitation_gap_nats: float
    """Mean unclipped logit over the policy's own recent episodes [nats per decision]; formula (7)."""


@dataclass(frozen=True)
class LearnerPoint:
    env_steps: int
    updates: int
    q_mean: float
    entropy: float
    kl_nats: float
    reward_mean: float
    temperature: float
    """What the logit was divided by before it became reward."""


@dataclass(frozen=True)
class Evaluation:
    """Fresh episodes with the mean of the policy, no learning."""

    env_steps: int
    robot_minutes: float
    successes: int
    episodes: int
    mean_steps: float

    @property
    def rate(self) -> Rate:
        return Rate(self.successes, self.episodes)


@dataclass(frozen=True)
class Run:
    """Everything the journal of one run holds, oldest first."""

    folder: Path
    about: Event
    """The ``run`` event: shaping, seed, config, versions, rate_hz, robot_type, task, policy, reward, offline_steps."""
    baselines: Mapping[str, Event]
    """``sampled`` and ``zero`` -> their ``baseline`` event."""
    episodes: Sequence[EpisodePoint]
    discriminator: Sequence[DiscriminatorPoint]
    learner: Sequence[LearnerPoint]
    evaluations: Sequence[Evaluation]
    final: Evaluation | None
    """Fresh episodes of the kept checkpoint after the run; None when the run did not get there."""
    end: Event | None
    starts: int
    """How often the run was started: 1, and one more for each resume."""
    torn: bool
    """True when the last line was cut off (power, kill)."""

    @property
    def name(self) -> str:
        """The folder's own name, which says nothing about the machine it lies on."""
        return self.folder.name

    @property
    def shaping(self) -> str:
        return str(self.about["shaping"])

    @property
    def seed(self) -> int:
        return int(self.about["seed"])

    @property
    def decided(self) -> list[EpisodePoint]:
        """Training episodes that ended in success or failure, not unsure or aborted."""
        return [point for point in self.episodes if point.outcome in ("success", "failure")]

    @property
    def last(self) -> Evaluation | None:
        """What the run is judged by: its final check, else its last evaluation. Never the best of many looks.

        An evaluation without a single verdict says nothing and is passed over.
        """
        looks = [*self.evaluations, *([self.final] if self.final else [])]
        return next((look for look in reversed(looks) if look.episodes), None)

    @property
    def reached(self) -> Evaluation | None:
        """The first evaluation at 80 % success or more."""
        return next((e for e in self.evaluations if e.rate.value >= REACHED), None)

    @property
    def state(self) -> str:
        """``FINISHED``, or what kept it from finishing, in words."""
        if self.end is not None:
            return FINISHED if self.end.get("reason") in ("budget", FINISHED) else str(self.end.get("reason"))
        return "no end in the journal (still running, or killed)" + (", last line torn" if self.torn else "")

    @property
    def env_steps(self) -> int:
        """Control steps used, offline data and warm-up included; evaluations are not counted."""
        return max((p.env_steps for p in self._counted), default=0)

    @property
    def robot_minutes(self) -> float:
        return max((p.robot_minutes for p in self._counted), default=0.0)

    @property
    def _counted(self) -> list[EpisodePoint | Evaluation]:
        return [*self.episodes, *self.evaluations]


def read_run(folder: Path) -> Run:
    """Read ``folder/journal.jsonl``. Raises ``DataError`` naming the folder when it is no readable run."""
    events = read_journal(folder)
    starts = [event for event in events if event["kind"] == "run"]
    if not starts:
        raise DataError(f"{folder}: the journal says of no run (no 'run' event among its {len(events)} lines)")
    for key in ("shaping", "seed"):
        if key not in starts[-1]:
            raise DataError(f"{folder}: the 'run' event lacks '{key}'")
    ends = [(place, event) for place, event in enumerate(events) if event["kind"] == "end"]
    began = max(place for place, event in enumerate(events) if event["kind"] == "run")
    evaluations = _points(Evaluation, events, "evaluation", folder)
    reached = evaluations[-1].env_steps if evaluations else 0
    finals = [f for f in _points(Evaluation, events, "final", folder) if f.env_steps >= reached]  # not of a shorter run
    return Run(
        folder=folder.resolve(),
        about=starts[-1],
        baselines={str(event.get("noise")): event for event in events if event["kind"] == "baseline"},
        episodes=_points(EpisodePoint, events, "episode", folder),
        discriminator=_points(DiscriminatorPoint, events, "discriminator", folder),
        learner=_points(LearnerPoint, events, "learner", folder),
        evaluations=evaluations,
        final=finals[-1] if finals else None,
        end=ends[-1][1] if ends and ends[-1][0] > began else None,
        starts=len(starts),
        torn=not (folder / FILE).read_bytes().endswith(b"\n"),
    )


def _points[P: EpisodePoint | DiscriminatorPoint | LearnerPoint | Evaluation](
    kind_of: type[P], events: Sequence[Event], kind: str, folder: Path
) -> list[P]:
    """The events of one kind as values. A resume goes back to a checkpoint: what it took back is dropped here."""
    points: list[P] = []
    for event in events:
        if event["kind"] != kind:
            continue
        values: dict[str, Any] = {f.name: _value(event, f.name, f.type, folder) for f in fields(kind_of)}
        point = kind_of(**values)
        while points and points[-1].env_steps >= point.env_steps:
            points.pop()
        points.append(point)
    return points


def _value(event: Event, name: str, kind: Any, folder: Path) -> int | float | str:
    """One field: a missing number is NaN, a missing count is a fault of the journal."""
    value = event.get(name)
    if kind is float:
        return nan if value is None else float(value)
    if value is None:
        raise DataError(f"{folder}: an '{event['kind']}' event lacks '{name}'")
    return str(value) if kind is str else int(value)
