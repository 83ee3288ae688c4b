"""Gradient steps of the policy; rewards are computed when a batch is drawn, by the discriminator of that moment."""

from collections import defaultdict
from collections.abc import Callable

import torch

from svm_robot.errors import DataError
from svm_robot.learner.replay import Replay, Sample
from svm_robot.learner.sac import Sac, Transitions

Rewards = Callable[[Sample], torch.Tensor]
"""(B decisions) -> (B,) reward, by the chosen form and the newest f."""

BLOCK = 32
"""Batches drawn and rewarded in one go. f does not change in between, so this is exact, and a good deal faster."""


def train_policy(
    sac: Sac,
    replay: Replay,
    rewards: Rewards,
    *,
    updates: int,
    batch: int,
    generator: torch.Generator,
    offline_share: float | None = None,
) -> dict[str, float]:
    """``updates`` gradient steps on batches of ``batch`` decisions; returns the mean of every number.

    Raises ``DataError`` as soon as a loss is not finite.
    """
    totals: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for done in range(0, updates, BLOCK):
        for transitions in drawn(replay, rewards, min(BLOCK, updates - done), batch, generator, offline_share):
            numbers = sac.update(transitions) | {"reward_mean": float(transitions.reward.mean())}
            for name, value in numbers.items():
                totals[name] += value
                counts[name] += 1
        if not all(map(_finite, totals.values())):
            raise DataError("the learner's numbers stopped being finite; a lower learning rate may help")
    return {name: totals[name] / counts[name] for name in totals}


def drawn(
    replay: Replay,
    rewards: Rewards,
    batches: int,
    batch: int,
    generator: torch.Generator,
    offline_share: float | None,
) -> list[Transitions]:
    """Draw several batches, rewards included. Each batch holds its own share of offline decisions."""
    samples = [replay.sample_rows(batch, generator, offline_share) for _ in range(batches)]
    sample = replay.at(torch.cat(samples))
    columns = (
        sample.vector,
        sample.latent,
        rewards(sample),
        sample.next_vector,
        (~sample.terminal).to(torch.float32),
    )
    return [Transitions(*parts) for parts in zip(*(torch.split(column, batch) for column in columns), strict=True)]


def _finite(value: float) -> bool:
    return abs(value) < float("inf")
