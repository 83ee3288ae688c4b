"""A steered toy policy for the toy world, its reward model, and a workplace to finetune in: seconds, not minutes."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from toys import FloatArray, ToyEnv, ToyObservation, ToyOperator

from svm_robot.learner.workplace import Workplace
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.modeling_svm import SvmRewardModel

MAX_STEPS, CHUNK, LATENT = 16, 2, 2


class NoisePilot:
    """The toy base: N(0, I), clipped at 1.5; or nothing at all."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.reset(0)

    def reset(self, seed: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, vector: FloatArray) -> FloatArray:
        return (self.scale * self.rng.normal(size=LATENT)).clip(-1.5, 1.5).astype(np.float32)


class ToySteered:
    """The first number of the noise picks the side: towards 50 (success) when it is above .2, else towards -50."""

    source = "policy"

    def __init__(self, pilot: Any) -> None:
        self.pilot = pilot
        self.latent: FloatArray | None = None

    def reset(self, seed: int | None = None) -> None:
        self.pilot.reset(seed)
        self.latent, self.steps = None, 0

    def vector_of(self, observation: ToyObservation, step_index: int) -> FloatArray:
        return np.append(observation.state / 50, step_index / MAX_STEPS).astype(np.float32)

    def act(self, observation: ToyObservation) -> FloatArray:
        self.latent = self.pilot(self.vector_of(observation, self.steps))
        self.steps += CHUNK
        goal = 50.0 if self.latent[0] > 0.2 else -50.0
        step = np.clip(goal - observation.state, -25, 25)
        return np.stack([observation.state + step] * CHUNK).astype(np.float32)


def toy_reward(seed: int = 0, **settings: Any) -> SvmRewardModel:
    """f(joints, noise), no pictures."""
    torch.manual_seed(seed)
    config: dict[str, Any] = {"joints": ["a.pos", "b.pos"], "action": "noise", "latent_dim": LATENT, "hidden": 32}
    model = SvmRewardModel(SvmConfig(**config | settings))
    model.set_normaliser(np.array([[-50.0, -50.0], [50.0, 50.0]], np.float32), None)
    return model


def toy_workplace(**settings: Any) -> Workplace:
    """Everything a run works with, new."""
    env = ToyEnv()
    values: dict[str, Any] = {
        "env": env,
        "operator": ToyOperator(env),
        "steer": ToySteered,
        "base": NoisePilot(),
        "zero": NoisePilot(0.0),
        "reward": toy_reward(),
        "save_policy": save_toy,
        "vector_dim": 3,
        "latent_dim": LATENT,
        "chunk": CHUNK,
        "max_steps": MAX_STEPS,
        "task": "go to 50",
        "identity": {"policy": "toy", "reward": "toy"},
        "about": {"policy": "toy", "reward": "toy", "versions": {}},
        "say": lambda text: None,
    }
    return Workplace(**values | settings)


def save_toy(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
