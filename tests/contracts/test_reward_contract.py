"""What every reward form promises, whatever it computes."""

import pytest
import torch
from torch import Tensor

from svm_robot.reward.forms import FORMS, RewardBatch, RewardForm, Shaping


@pytest.fixture(params=sorted(FORMS))
def form(request: pytest.FixtureRequest) -> RewardForm:
    return FORMS[request.param]


def f(inputs: Tensor) -> Tensor:
    return 30 * inputs.sum(dim=1)


def batch(count: int = 16) -> RewardBatch:
    generator = torch.Generator().manual_seed(3)
    inputs, following = torch.randn((2, count, 5), generator=generator)
    return RewardBatch(torch.arange(count) % 4 == 3, inputs, following)


def test_one_finite_float_per_decision(form: RewardForm) -> None:
    rewards = form(batch(), f)
    assert rewards.shape == (16,)
    assert rewards.dtype == torch.float32
    assert torch.isfinite(rewards).all()


def test_pure(form: RewardForm) -> None:
    given = batch()
    before = given.inputs.clone(), given.terminal.clone()
    assert torch.equal(form(given, f), form(given, f))
    assert torch.equal(given.inputs, before[0])
    assert torch.equal(given.terminal, before[1])


def test_no_gradient(form: RewardForm) -> None:
    head = torch.nn.Linear(5, 1)
    assert not form(batch(), lambda inputs: head(inputs).squeeze(-1)).requires_grad


def test_each_decision_is_rewarded_by_itself(form: RewardForm) -> None:
    """A batch is a sample: what else was drawn must not matter."""
    given = batch()
    order = torch.randperm(16, generator=torch.Generator().manual_seed(1))
    assert given.next_inputs is not None
    mixed = RewardBatch(given.terminal[order], given.inputs[order], given.next_inputs[order])
    assert torch.allclose(form(mixed, f), form(given, f)[order])


def test_success_is_worth_more_than_going_on(form: RewardForm) -> None:
    inputs = torch.zeros((1, 5))
    ends = form(RewardBatch(torch.tensor([True]), inputs, inputs), f)
    goes_on = form(RewardBatch(torch.tensor([False]), inputs, inputs), f)
    assert ends.item() > goes_on.item()


def test_bounded_by_the_clip_whatever_f_says(form: RewardForm) -> None:
    shaping = Shaping()
    rewards = form(batch(), lambda inputs: torch.full((len(inputs),), 1e9), shaping)
    assert rewards.abs().max() <= 1 + shaping.step_cost + shaping.lam * shaping.beta + 1e-5


def test_an_empty_batch_is_no_error(form: RewardForm) -> None:
    assert form(RewardBatch(torch.zeros(0, dtype=torch.bool), torch.zeros(0, 5), torch.zeros(0, 5)), f).shape == (0,)
