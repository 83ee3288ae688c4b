"""The values that travel along one episode: how it starts, each step, how it ends."""

from dataclasses import dataclass
from enum import StrEnum

from svm_robot.rollout.env import EnvSpec, FloatArray, Observation


class Outcome(StrEnum):
    """What the operator (or a judge) said of a whole episode. Only the first two train anything."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNSURE = "unsure"
    ABORTED = "aborted"


@dataclass(frozen=True)
class EpisodeStart:
    """Given to every listener before the first step."""

    spec: EnvSpec
    task: str
    seed: int | None
    source: str
    """Who acts: ``policy``, ``script`` or ``human``."""


@dataclass(frozen=True)
class Step:
    """One control step: what was seen, what was asked, what was sent."""

    index: int
    observation: Observation
    requested: FloatArray
    """(J,) the target the policy asked for."""
    sent: FloatArray
    """(J,) the target that went to the motors after safety."""
    clipped: bool
    source: str
    decision: bool
    """True on the first step of an action chunk: the observation of this step is what the chunk was chosen from."""
    chunk: FloatArray
    """(c, J) the whole chunk this step belongs to, as asked for."""
    latent: FloatArray | None
    """(d,) the noise the chunk was generated from, when the policy has one."""


@dataclass(frozen=True)
class EpisodeEnd:
    """How the episode ended. Terminated and truncated are kept apart: a time-out is no property of the task."""

    outcome: Outcome
    terminated: bool
    """True when the task itself ended, and only success does that: its last step bootstraps from nothing."""
    truncated: bool
    """True when anything else ended it (time limit, verdict, abort, fault): the learner bootstraps from ``final``."""
    reason: str
    steps: int
    duration_s: float
    """Robot time from first to last observation [s]."""
    final: Observation | None
    """The observation after the last action (frames included); None when it could not be read."""
