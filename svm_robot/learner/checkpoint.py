"""The run on disk: episodes are row files that are written once, everything else is a folder per checkpoint.

    RUN/replay/000000.safetensors ...     one file per episode that trains, in the order they came
    RUN/checkpoints/000012/               learner.pt (weights, optimisers, random states), state.json (counters)

A checkpoint folder is complete and on disk before it gets its name, so the newest one is always whole.
"""

import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from svm_robot.data.files import new_folder
from svm_robot.errors import CheckpointError
from svm_robot.learner.decisions import DecisionEpisode, read_episode, write_episode

VERSION = 1
FOLDER, REPLAY = "checkpoints", "replay"
WEIGHTS, STATE = "learner.pt", "state.json"
KEEP = 2


@dataclass(frozen=True)
class Checkpoint:
    """What was saved after one episode."""

    number: int
    weights: dict[str, Any]
    """Nested state of the learner: tensors, numbers and strings only."""
    state: dict[str, Any]
    """Plain JSON: counters, configuration, identity."""


def save_checkpoint(run: Path, checkpoint: Checkpoint) -> None:
    """Write a new checkpoint, publish it, then let all but the last two go."""
    with new_folder(run / FOLDER / f"{checkpoint.number:06d}") as fresh:
        torch.save(checkpoint.weights | {"random": random_states()}, fresh / WEIGHTS)
        (fresh / STATE).write_text(json.dumps({"version": VERSION} | checkpoint.state), encoding="utf-8")
    for old in checkpoints(run)[:-KEEP]:
        shutil.rmtree(old)


def checkpoints(run: Path) -> list[Path]:
    """Complete checkpoint folders, oldest first."""
    return sorted(path for path in (run / FOLDER).glob("[0-9]*") if path.is_dir())


def load_state(run: Path) -> dict[str, Any]:
    """Counters and configuration of the newest checkpoint, without its weights."""
    path = newest(run) / STATE
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: not readable ({error})") from error
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise CheckpointError(f"{path}: not a checkpoint of version {VERSION}")
    return state


def load_checkpoint(run: Path) -> Checkpoint:
    """The newest checkpoint; the random states of torch, numpy and Python are set back to it."""
    state, path = load_state(run), newest(run) / WEIGHTS
    try:
        weights: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    except (OSError, RuntimeError, ValueError, EOFError) as error:
        raise CheckpointError(f"{path}: damaged ({' '.join(str(error).split())[:200]})") from error
    set_random_states(weights.pop("random"))
    return Checkpoint(int(path.parent.name), weights, state)


def newest(run: Path) -> Path:
    """Folder of the newest checkpoint."""
    found = checkpoints(run)
    if not found:
        raise CheckpointError(f"{run} holds no checkpoint to resume from; start the run without --resume")
    return found[-1]


def save_episode(run: Path, number: int, episode: DecisionEpisode) -> None:
    """Write the ``number``-th episode of the replay."""
    write_episode(run / REPLAY / f"{number:06d}.safetensors", episode)


def load_episodes(run: Path, count: int) -> list[DecisionEpisode]:
    """The first ``count`` episodes; later ones are from after the checkpoint and are written anew."""
    return [read_episode(run / REPLAY / f"{number:06d}.safetensors") for number in range(count)]


def random_states() -> dict[str, Any]:
    """The global random states; what this package draws comes from generators of its own."""
    version, words, gauss = random.getstate()
    of_numpy: Any = np.random.get_state(legacy=False)  # noqa: NPY002  (saved for libraries that use it)
    of_numpy["state"]["key"] = torch.from_numpy(of_numpy["state"]["key"].astype(np.int64))
    return {"torch": torch.get_rng_state(), "numpy": of_numpy, "python": (version, torch.tensor(words), gauss)}


def set_random_states(states: dict[str, Any]) -> None:
    """The reverse of ``random_states``."""
    torch.set_rng_state(states["torch"])
    of_numpy = states["numpy"]
    of_numpy["state"]["key"] = of_numpy["state"]["key"].numpy().astype(np.uint32)
    np.random.set_state(of_numpy)  # noqa: NPY002
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words.tolist()), gauss))
