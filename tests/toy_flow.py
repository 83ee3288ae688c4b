"""A tiny flow policy and tiny episodes for the toy robot of ``toys``."""

from pathlib import Path

import numpy as np
import torch
import toys

from svm_robot.data import Dataset, EpisodeData
from svm_robot.policies.configuration_svm_flow import SvmFlowConfig
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.rollout import Outcome


def tiny_config(chunk: int = 3, **sizes: int) -> SvmFlowConfig:
    """Small enough for a test."""
    return SvmFlowConfig(device="cpu", chunk_size=chunk, hidden=sizes.pop("hidden", 32), layers=2, **sizes)


def tiny_flow(chunk: int = 3, seed: int = 0) -> SvmFlowPolicy:
    """Untrained, for the toy robot, in evaluation mode."""
    torch.manual_seed(seed)
    config, spec = tiny_config(chunk), toys.ToySpec()
    config.describe(spec.robot_type, list(spec.joints), dict(spec.cameras), spec.rate_hz)
    return SvmFlowPolicy(config).eval()


def look(seed: int = 0) -> toys.ToyObservation:
    """A first observation of the toy world."""
    env = toys.ToyEnv()
    env.reset(seed)
    return env.observe()


def episode(index: int, outcome: Outcome | None, length: int = 12, step: float = 8.0) -> EpisodeData:
    """The toy robot walks by ``step`` towards +50 on a success and towards -50 otherwise."""
    env = toys.ToyEnv()
    env.reset(index)
    states, actions, frames = [], [], []
    for _ in range(length):
        seen = env.observe()
        goal = 50.0 if outcome is Outcome.SUCCESS else -50.0
        action = (seen.state + np.clip(goal - seen.state, -step, step)).astype(np.float32)
        env.apply(action)
        states.append(seen.state)
        actions.append(action)
        frames.append(seen.frames)
    return EpisodeData(
        index=index,
        uid=index + 1000,
        outcome=outcome,
        task="",
        state=np.stack(states),
        action=np.stack(actions),
        decision=np.ones(length, bool),
        latent=None,
        terminated=outcome is Outcome.SUCCESS,
        frames={role: np.stack([frame[role] for frame in frames]) for role in frames[0]},
    )


def dataset(outcomes: list[Outcome | None]) -> Dataset:
    """One toy episode per outcome."""
    spec = toys.ToySpec()
    return Dataset(
        root=Path("toy"),
        episodes=[episode(number, outcome) for number, outcome in enumerate(outcomes)],
        joints=spec.joints,
        cameras=dict(spec.cameras),
        rate_hz=spec.rate_hz,
        robot_type=spec.robot_type,
        label_hash="labels",
        fingerprint="data",
    )
