"""What an imported recording says of success, and only where it says it.

The rule, for each episode: ``next.success`` true anywhere is a success, else a failure. Without that column a reward of
0 and 1 counts in its place: 1 anywhere is a success; 0 throughout is a failure, if the episode came to its end
(``next.done``). A column that is never true in the whole recording was never filled in and says nothing; nor does a
reward with other values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.data.labels import Label
from svm_robot.rollout.episode import Outcome

Told = Mapping[str, NDArray[Any]]
"""The columns ``TELLING`` of one episode, those that there are."""

BY = "import"
"""Who stands beside such a label."""

TELLING = (columns.SUCCESS, columns.REWARD, columns.DONE)


def outcomes(episodes: Sequence[Told]) -> tuple[list[Outcome | None], str]:
    """The outcome of each episode where the recording tells it, and in words where that came from."""
    unknown: list[Outcome | None] = [None] * len(episodes)
    if episodes and all(columns.SUCCESS in told for told in episodes):
        succeeded = [bool(told[columns.SUCCESS].astype(bool).any()) for told in episodes]
        if not any(succeeded):
            return unknown, f"{columns.SUCCESS} is never true: no episode is labelled"
        return [Outcome.SUCCESS if yes else Outcome.FAILURE for yes in succeeded], f"told by {columns.SUCCESS}"
    if not episodes or not all(columns.REWARD in told for told in episodes):
        return unknown, "the recording says nothing of success: no episode is labelled"
    rewards = [told[columns.REWARD].astype(float).ravel() for told in episodes]
    if not np.isin(np.concatenate(rewards), (0.0, 1.0)).all():
        return unknown, f"{columns.REWARD} holds more than 0 and 1: no episode is labelled"
    if not any(reward.any() for reward in rewards):
        return unknown, f"{columns.REWARD} is 0 throughout: no episode is labelled"
    found = [by_reward(reward, told) for reward, told in zip(rewards, episodes, strict=True)]
    return found, f"told by {columns.REWARD}"


def by_reward(reward: NDArray[np.float64], told: Told) -> Outcome | None:
    """The outcome of one episode by its rewards of 0 and 1."""
    if reward.any():
        return Outcome.SUCCESS
    ended = columns.DONE in told and told[columns.DONE].astype(bool).any()
    return Outcome.FAILURE if ended else None


def labels_of(
    uids: Sequence[int], episodes: Sequence[Told], named: Sequence[str | None], time: float
) -> tuple[tuple[Label, ...], str]:
    """A line of the log for each episode whose outcome is told, and in words where that came from.

    ``named``: outcomes by name (empty: unlabelled), where the recording has them; they win over the columns.
    """
    found, why = outcomes(episodes)
    if any(name is not None for name in named):
        found, why = [Outcome(name) if name else None for name in named], "named in the recording"
    return tuple(
        Label(uid, outcome, BY, time, reason=why)
        for uid, outcome in zip(uids, found, strict=True)
        if outcome is not None
    ), why
