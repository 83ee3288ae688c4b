"""One episode as the learner keeps it: a row per decision (action chunk), and one more for what came after the last.

A row file is safetensors with a JSON header, so no code runs when it is read. ``VERSION`` changes with its meaning.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from svm_robot.data.files import publish
from svm_robot.errors import CheckpointError, DataError
from svm_robot.rollout import Outcome

VERSION = 1
TRAINS = (Outcome.SUCCESS, Outcome.FAILURE)
"""Only these train anything: aborted episodes and hardware faults say nothing about the policy."""
TENSORS = ("vectors", "latents", "inputs", "step_index")


@dataclass(frozen=True)
class DecisionEpisode:
    """T decisions, float32 on the CPU."""

    vectors: Tensor
    """(T + 1, n) what the learner sees at each decision; the last row is the observation after the last action."""
    latents: Tensor
    """(T, d) the noise that was chosen."""
    inputs: Tensor
    """(T, m) ``SvmRewardModel.inputs`` of each decision."""
    step_index: Tensor
    """(T + 1,) int64 control step of each row."""
    outcome: Outcome
    terminated: bool
    """True when the episode ended by success. A time-out is False: its last decision bootstraps from the last row."""
    offline: bool = False
    """True when it was recorded before this run."""

    def __post_init__(self) -> None:
        rows = len(self.latents)
        if len(self.vectors) != rows + 1 or len(self.step_index) != rows + 1 or len(self.inputs) != rows:
            raise DataError(
                f"an episode of {rows} decisions needs {rows + 1} vectors and {rows} reward inputs, "
                f"got {len(self.vectors)} and {len(self.inputs)}"
            )

    def __len__(self) -> int:
        return len(self.latents)

    @property
    def steps(self) -> int:
        """Length in control steps."""
        return int(self.step_index[-1])

    @property
    def trains(self) -> bool:
        """False for unsure and aborted episodes, and for those too short to hold a decision."""
        return self.outcome in TRAINS and len(self) > 0

    def as_offline(self) -> "DecisionEpisode":
        """The same, marked as recorded before this run."""
        return replace(self, offline=True)


def write_episode(path: Path, episode: DecisionEpisode) -> None:
    """Write one row file; complete and on disk when this returns."""
    about = {"version": VERSION, "outcome": str(episode.outcome)}
    about |= {"terminated": episode.terminated, "offline": episode.offline}
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}.new")
    save_file({name: getattr(episode, name).contiguous() for name in TENSORS}, staged, {"about": json.dumps(about)})
    publish(staged, path)


def read_episode(path: Path) -> DecisionEpisode:
    """Read one row file. Raises ``CheckpointError`` naming it when it is missing, damaged or of another version."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in TENSORS}
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path}: not readable as an episode of the learner ({error})") from error
    if about.get("version") != VERSION:
        raise CheckpointError(f"{path}: version {about.get('version')}, this tool reads {VERSION}")
    return DecisionEpisode(
        **tensors,
        outcome=Outcome(about["outcome"]),
        terminated=bool(about["terminated"]),
        offline=bool(about["offline"]),
    )


def as_rows(values: object) -> Tensor:
    """Numbers of any kind as a float32 tensor of its own."""
    return torch.as_tensor(values, dtype=torch.float32).clone()
