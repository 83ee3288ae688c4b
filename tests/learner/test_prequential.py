import math

import pytest

from svm_robot.learner.prequential import ENOUGH, OWN, RECENT, Prequential
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


def test_the_temperature_waits_for_enough_own_episodes_of_both_outcomes() -> None:
    seen = Prequential()
    for _ in range(ENOUGH):
        seen.add(PLUS, [3.0], own=True)
        seen.add(MINUS, [-3.0], own=False)  # the base's episode: f may have been fitted on it
    assert seen.temperature(before=7.0) == 7.0
    for _ in range(ENOUGH):
        seen.add(MINUS, [-3.0], own=True)
    assert seen.temperature(before=7.0) == 1.0  # all right: never made surer, only less sure


def test_a_temperature_makes_logits_as_sure_as_they_were_right() -> None:
    seen = Prequential()
    for outcome, sign in ((PLUS, 1.0), (MINUS, -1.0)):
        for wrong in (False, False, False, True):  # right three times in four, with the sureness of 20 nats
            seen.add(outcome, [-20.0 * sign if wrong else 20.0 * sign], own=True)
    honest = math.log(3)  # sigmoid(log 3) = 3/4
    assert 20.0 / seen.temperature(before=1.0) == pytest.approx(honest, rel=0.02)
