"""The trained actor as a pilot: what a steered policy asks for its noise."""

import json
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from svm_robot.data.files import publish, publish_json
from svm_robot.errors import CheckpointError
from svm_robot.learner.networks import Actor
from svm_robot.rollout.env import FloatArray

VERSION = 1
WEIGHTS, ABOUT = "pilot.safetensors", "pilot.json"
SIZES = ("inputs", "latent", "hidden", "bound")


class Pilot(Protocol):
    """Chooses the noise of one decision."""

    def reset(self, seed: int | None) -> None:
        """Same seed, same draws."""

    def __call__(self, vector: FloatArray) -> FloatArray:
        """(n,) -> (d,)."""


class ActorPilot:
    """Asks the actor: a draw when ``sample`` is true, else its deterministic choice.

    ``horizon_steps``: control steps of the episodes it was trained on, the unit of the clock it reads.
    """

    def __init__(self, actor: Actor, sample: bool, horizon_steps: int) -> None:
        self.actor, self.sample, self.horizon_steps = actor, sample, horizon_steps
        self.generator = torch.Generator()

    def reset(self, seed: int | None) -> None:
        """Begin the draws of an episode; without a seed they begin anywhere."""
        if seed is None:
            self.generator.seed()
        else:
            self.generator.manual_seed(seed)

    @torch.inference_mode()
    def __call__(self, vector: FloatArray) -> FloatArray:
        """(n,) float32 -> (d,) float32 within the bound."""
        row = torch.from_numpy(vector)[None]
        latent = self.actor.sample(row, self.generator)[0] if self.sample else self.actor.mean(row)
        noise: FloatArray = latent[0].numpy()
        return noise


def save_pilot(folder: Path, actor: Actor, horizon_steps: int) -> None:
    """Write the actor into ``folder``, beside the policy it steers."""
    folder.mkdir(parents=True, exist_ok=True)
    staged = folder / f".{WEIGHTS}.new"
    save_file({name: weight.detach().clone() for name, weight in actor.state_dict().items()}, staged)
    publish(staged, folder / WEIGHTS)
    about = {"version": VERSION, "horizon_steps": horizon_steps} | {name: getattr(actor, name) for name in SIZES}
    publish_json(about, folder / ABOUT)


def has_pilot(folder: Path) -> bool:
    """True when a finetuned actor lies beside the policy in ``folder``."""
    return (folder / ABOUT).is_file()


def load_pilot(folder: Path, sample: bool = False) -> ActorPilot:
    """Read what ``save_pilot`` wrote. Raises ``CheckpointError`` when it is missing, damaged or of another version."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about.get("version") != VERSION:
            raise CheckpointError(f"{folder / ABOUT}: version {about.get('version')}, this tool reads {VERSION}")
        actor = Actor(**{name: about[name] for name in SIZES})
        actor.load_state_dict(load_file(folder / WEIGHTS))
        horizon_steps = int(about["horizon_steps"])
    except (OSError, SafetensorError, ValueError, KeyError, RuntimeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{folder}: no readable pilot ({' '.join(str(error).split())})") from error
    return ActorPilot(actor.requires_grad_(False), sample, horizon_steps)
