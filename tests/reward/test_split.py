"""Who learns, who judges, and what is refused with what to record next."""

import pytest
from reward_episodes import dataset, episode

from svm_robot.errors import DataError
from svm_robot.reward.split import check_classes, labelled, split_episodes
from svm_robot.rollout.episode import Outcome


def of(successes: int, failures: int, unlabelled: int = 0) -> list:
    found = dataset(successes, failures, steps=4).episodes
    return found + [episode(100 + i, None, steps=4) for i in range(unlabelled)]


@pytest.mark.parametrize(
    ("episodes", "says"),
    [
        ((10, 0), "10 successes and 0 failures: .* record 4 more failures"),
        ((0, 10), "0 successes and 10 failures: .* record 4 more successes"),
        ((9, 1), "9 successes and 1 failures: .* record 3 more failures"),
        ((3, 10), "record 1 more success$"),
        ((2, 1), "record 2 more successes and 3 more failures"),
        ((0, 0, 10), r"\(10 unsure, aborted or unlabelled\): label the episodes first"),
        ((0, 0), "0 successes and 0 failures"),
    ],
)
def test_one_outcome_or_too_few_is_refused_with_what_to_record(episodes: tuple[int, ...], says: str) -> None:
    with pytest.raises(DataError, match=says):
        check_classes(of(*episodes))


def test_enough_is_enough() -> None:
    check_classes(of(4, 4, unlabelled=3))


def test_unsure_aborted_and_unlabelled_episodes_train_nothing() -> None:
    outcomes = [Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNSURE, Outcome.ABORTED, None]
    kept = labelled([episode(i, outcome, steps=4) for i, outcome in enumerate(outcomes)])
    assert [e.index for e in kept] == [0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_no_episode_is_on_both_sides_and_none_is_lost(seed: int) -> None:
    episodes = of(11, 23)
    train, judge = split_episodes(episodes, 0.25, seed)
    names = [e.uid for e in train + judge]
    assert sorted(names) == sorted(e.uid for e in episodes)
    assert len(set(names)) == len(names)


def test_both_sides_hold_both_outcomes_in_the_same_share() -> None:
    train, judge = split_episodes(of(12, 40), 0.25)
    assert [sum(e.outcome is Outcome.SUCCESS for e in side) for side in (train, judge)] == [9, 3]
    assert [sum(e.outcome is Outcome.FAILURE for e in side) for side in (train, judge)] == [30, 10]


def test_the_fewest_episodes_still_give_two_of_each_to_judge() -> None:
    train, judge = split_episodes(of(4, 4), 0.25)
    assert (len(train), len(judge)) == (4, 4)
    assert sum(e.outcome is Outcome.SUCCESS for e in judge) == 2


def test_a_greedy_share_leaves_two_of_each_to_learn_from() -> None:
    train, judge = split_episodes(of(4, 20), 0.95)
    assert [sum(e.outcome is Outcome.SUCCESS for e in side) for side in (train, judge)] == [2, 2]
    assert [sum(e.outcome is Outcome.FAILURE for e in side) for side in (train, judge)] == [2, 18]


def test_the_seed_decides_the_split() -> None:
    episodes = of(10, 10)
    assert [e.uid for e in split_episodes(episodes, seed=1)[1]] == [e.uid for e in split_episodes(episodes, seed=1)[1]]
    assert [e.uid for e in split_episodes(episodes, seed=1)[1]] != [e.uid for e in split_episodes(episodes, seed=2)[1]]
