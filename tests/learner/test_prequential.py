import pytest

from svm_robot.learner.prequential import OWN, RECENT, Prequential
from svm_robot.rollout import Outcome

PLUS, MINUS = Outcome.SUCCESS, Outcome.FAILURE


def test_nothing_is_said_of_nothing() -> None:
    assert set(Prequential().numbers().values()) == {None}


def test_means_and_auc_by_hand() -> None:
    seen = Prequential()
    seen.add(PLUS, [1.0, 3.0], own=False)
    assert seen.numbers()["auc_recent"] is None
    seen.add(MINUS, [-4.0, 2.0], own=True)
    numbers = seen.numbers()
    assert numbers["mean_logit_success"] == 2.0
    assert numbers["mean_logit_failure"] == -1.0
    assert numbers["auc_recent"] == 0.75  # 1 > -4, 3 > -4, 3 > 2, but 1 < 2
    assert numbers["visitation_gap_nats"] == -1.0  # only the episode in which the actor acted


def test_the_gap_is_per_decision_over_the_newest_own_episodes() -> None:
    seen = Prequential()
    seen.add(PLUS, [100.0], own=True)
    for _ in range(OWN - 1):
        seen.add(PLUS, [1.0, 1.0, 1.0], own=True)
    seen.add(MINUS, [0.0], own=True)
    assert seen.visitation_gap() == pytest.approx(3 * (OWN - 1) / (3 * (OWN - 1) + 1))


def test_only_recent_episodes_count() -> None:
    seen = Prequential()
    seen.add(MINUS, [-1.0], own=False)
    for _ in range(RECENT):
        seen.add(PLUS, [1.0], own=False)
    assert seen.numbers()["mean_logit_failure"] is None


def test_early_decisions_are_reported_apart() -> None:
    seen = Prequential()
    seen.add(PLUS, [0.0] * 5 + [9.0] * 5, own=False)
    seen.add(MINUS, [0.0] * 5 + [-9.0] * 5, own=False)
    numbers = seen.numbers()
    assert numbers["auc_recent_first"] == 0.5
    assert numbers["auc_recent"] == pytest.approx(0.875)
