"""Recordings of the toy world, for tests that read datasets."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from toys import ToyEnv, ToyOperator, ToyPolicy, ToySpec

from svm_robot.data.labels import FILE
from svm_robot.recording.encoder import Encoding
from svm_robot.recording.recorder import Recorder
from svm_robot.rollout import run_episode

LOSSLESS = 2
"""Largest difference of a decoded pixel from a live one at small sizes: rounding between colour spaces."""


def record_toy(
    root: Path,
    goals: str = "sf",
    spec: ToySpec | None = None,
    max_steps: int = 12,
    seed: int = 0,
    encoding: Encoding | None = None,
) -> Recorder:
    """One episode for each letter: ``s`` walks to the goal, ``f`` away from it. The recorder is closed."""
    env = ToyEnv(spec)
    recorder = Recorder(root, env.spec, "reach", latent_dim=2, encoding=encoding, by="judge")
    recorder.open()
    try:
        for number, goal in enumerate(goals):
            policy = ToyPolicy(wrong=goal == "f")
            operator = ToyOperator(env)
            run_episode(env, policy, operator, max_steps=max_steps, seed=seed + number, listeners=[recorder])
    finally:
        recorder.close()
    return recorder


def labels_restored(root: Path) -> Iterator[Path]:
    """For a fixture: the dataset, whose label log is put back afterwards."""
    before = (root / FILE).read_bytes()
    yield root
    (root / FILE).write_bytes(before)


def numbered(number: int, height: int = 32, width: int = 32) -> NDArray[np.uint8]:
    """A picture that carries a number: its red is the number, its blue the complement."""
    picture = np.zeros((height, width, 3), np.uint8)
    picture[..., 0], picture[..., 1], picture[..., 2] = number, 128, 255 - number
    return picture


def number_in(picture: NDArray[np.uint8]) -> int:
    """The inverse of ``numbered``, from the picture's middle."""
    height, width = picture.shape[:2]
    return round(float(picture[height // 4 : -height // 4, width // 4 : -width // 4, 0].mean()))
