"""Reward forms against values worked out by hand."""

import pytest
import torch
from torch import Tensor

from svm_robot.errors import ConfigError
from svm_robot.reward.forms import RewardBatch, Shaping, clip_beta, form_named, outcome, svm


def first_column(inputs: Tensor) -> Tensor:
    return inputs[:, 0]


def batch_of(logits: list[float], terminal: list[bool]) -> RewardBatch:
    return RewardBatch(torch.tensor(terminal), torch.tensor(logits)[:, None])


def test_clip_beta_is_the_formula() -> None:
    x = torch.tensor([-50.0, -20.0, -3.0, 0.0, 19.9, 20.0, 50.0])
    assert clip_beta(x, 20.0).tolist() == pytest.approx([-20.0, -20.0, -3.0, 0.0, 19.9, 20.0, 20.0])


def test_clip_beta_does_not_turn_nan_into_a_score() -> None:
    assert torch.isnan(clip_beta(torch.tensor([float("nan")]), 20.0)).all()


def test_outcome_costs_one_per_decision_and_nothing_on_success() -> None:
    assert outcome(batch_of([99.0, 99.0], [False, True]), first_column).tolist() == [-1.0, 0.0]


def test_svm_is_equation_1_with_the_guard() -> None:
    rewards = svm(batch_of([5.0, -30.0, 30.0], [False, False, True]), first_column, Shaping(0.1, 20.0, 1.0))
    assert rewards.tolist() == pytest.approx([-2.0 + 0.5, -2.0 - 2.0, 2.0])


def test_svm_without_guard_and_lambda_is_the_outcome() -> None:
    batch = batch_of([5.0, -7.0], [False, True])
    assert torch.equal(svm(batch, first_column, Shaping(0.0, 20.0, 0.0)), outcome(batch, first_column))


def test_with_the_default_guard_no_decision_that_does_not_finish_can_pay() -> None:
    assert Shaping().loiter_bound <= 0
    assert Shaping(step_cost=0.0).loiter_bound == pytest.approx(1.0)
    best = svm(batch_of([1e6], [False]), first_column, Shaping())
    assert best.item() <= 1e-6


def test_hovering_beats_finishing_without_the_guard_and_loses_with_it() -> None:
    """A state where f is sure of success: hover there for ever, or finish now."""
    hover, finish = batch_of([20.0], [False]), batch_of([20.0], [True])
    gamma = 0.98
    for shaping, hovering_wins in ((Shaping(step_cost=0.0), True), (Shaping(), False)):
        for_ever = svm(hover, first_column, shaping).item() / (1 - gamma)
        assert (for_ever > svm(finish, first_column, shaping).item()) == hovering_wins


def test_rewards_carry_no_gradient_into_f() -> None:
    head = torch.nn.Linear(1, 1)
    assert not svm(batch_of([1.0], [False]), lambda x: head(x).squeeze(-1)).requires_grad


@pytest.mark.parametrize("wrong", [{"lam": -0.1}, {"beta": 0.0}, {"step_cost": -1.0}, {"lam": float("nan")}])
def test_senseless_constants_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Shaping(**wrong)


def test_an_unknown_form_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ConfigError, match=r"'sparse'.*outcome, svm"):
        form_named("sparse")
