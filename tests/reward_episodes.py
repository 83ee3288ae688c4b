"""Synthetic labelled episodes with a planted signal, for the reward's tests."""

from dataclasses import dataclass, field

import numpy as np

from svm_robot.data.episodes import EpisodeData
from svm_robot.rollout.episode import Outcome

JOINTS = ("a.pos", "b.pos")
SIZE = 32


@dataclass(frozen=True)
class Synthetic:
    """Shaped like a dataset that was read from disk."""

    episodes: list[EpisodeData]
    joints: tuple[str, ...] = JOINTS
    cameras: dict[str, tuple[int, int]] = field(default_factory=lambda: {"front": (SIZE, SIZE), "wrist": (SIZE, SIZE)})
    rate_hz: float = 10.0
    robot_type: str = "toy"
    label_hash: str = "0123"
    fingerprint: str = "4567"


def episode(
    index: int, outcome: Outcome | None, *, signal: str = "picture", steps: int = 24, chunk: int = 4, seed: int = 0
) -> EpisodeData:
    """One episode. ``signal`` says what tells its outcome: ``picture`` (a bright block left or right in the front
    camera), ``noise`` (mean of the latent), ``none``, or ``clock`` (successes stop half way)."""
    rng = np.random.default_rng([seed, index])
    good = outcome is Outcome.SUCCESS
    if signal == "clock" and good:
        steps //= 2
    frames = {role: rng.integers(60, 90, (steps, SIZE, SIZE, 3)).astype(np.uint8) for role in ("front", "wrist")}
    left = good if signal == "picture" else rng.random() < 0.5
    column = 4 if left else 20
    frames["front"][:, 10:18, column : column + 8] = (230, 60, 40)
    latent = np.repeat(rng.normal(0, 1, (-(-steps // chunk), 6)), chunk, axis=0)[:steps]
    if signal == "noise":
        latent += 1.5 if good else -1.5
    state = rng.normal(0, 20, (steps, 2)).astype(np.float32)
    return EpisodeData(
        index=index,
        uid=1000 + index,
        outcome=outcome,
        task="toy",
        state=state,
        action=state + rng.normal(0, 3, (steps, 2)).astype(np.float32),
        decision=np.arange(steps) % chunk == 0,
        latent=latent.astype(np.float32),
        terminated=good,
        frames=frames,
    )


def dataset(successes: int, failures: int, *, signal: str = "picture", seed: int = 0, **more: int) -> Synthetic:
    """A dataset with this many of each outcome, mixed."""
    outcomes = [Outcome.SUCCESS] * successes + [Outcome.FAILURE] * failures
    order = np.random.default_rng(seed).permutation(len(outcomes))
    return Synthetic([episode(i, outcomes[k], signal=signal, seed=seed, **more) for i, k in enumerate(order)])
