"""Which episodes train the discriminator and which only judge it, and whether there are enough of each outcome."""

from collections.abc import Sequence

import numpy as np

from svm_robot.data.episodes import EpisodeData
from svm_robot.errors import DataError
from svm_robot.rollout.episode import Outcome

LEAST = 4
"""Episodes of each outcome: two to learn from and two to judge by, or there is no interval."""
HELD_OUT = 2


def labelled(episodes: Sequence[EpisodeData]) -> list[EpisodeData]:
    """Successes and failures. Unsure, aborted and unlabelled episodes train nothing."""
    return [episode for episode in episodes if episode.outcome in (Outcome.SUCCESS, Outcome.FAILURE) and len(episode)]


def check_classes(episodes: Sequence[EpisodeData]) -> None:
    """``DataError`` that says what to record or label next, unless both outcomes have at least ``LEAST`` episodes."""
    usable = labelled(episodes)
    counts = {name: sum(e.outcome is name for e in usable) for name in (Outcome.SUCCESS, Outcome.FAILURE)}
    if all(count >= LEAST for count in counts.values()):
        return
    many = f"{counts[Outcome.SUCCESS]} successes and {counts[Outcome.FAILURE]} failures"
    other = len(episodes) - len(usable)
    if other:
        many += f" ({other} unsure, aborted or unlabelled)"
    if not usable and other:
        raise DataError(f"{many}: label the episodes first, 'svm-robot label DATASET --episode=0 --set=success'")
    needs = [f"{LEAST - n} more {_plural(name, LEAST - n)}" for name, n in counts.items() if n < LEAST]
    raise DataError(f"{many}: telling them apart needs at least {LEAST} of each; record {' and '.join(needs)}")


def split_episodes(
    episodes: Sequence[EpisodeData], holdout: float = 0.25, seed: int = 0
) -> tuple[list[EpisodeData], list[EpisodeData]]:
    """(train, held out) by whole EPISODES, the same share of each outcome, and two of each on both sides."""
    rng = np.random.default_rng(seed)
    train: list[EpisodeData] = []
    judge: list[EpisodeData] = []
    for outcome in (Outcome.SUCCESS, Outcome.FAILURE):
        members = [episode for episode in episodes if episode.outcome is outcome]
        count = max(HELD_OUT, min(round(holdout * len(members)), len(members) - HELD_OUT))
        order = rng.permutation(len(members))
        judge += [members[i] for i in order[:count]]
        train += [members[i] for i in order[count:]]
    return train, judge


def _plural(outcome: Outcome, count: int) -> str:
    word = {Outcome.SUCCESS: "success", Outcome.FAILURE: "failure"}[outcome]
    return word if count == 1 else {"success": "successes", "failure": "failures"}[word]
