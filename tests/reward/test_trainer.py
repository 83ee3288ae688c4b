"""Warm-started updates of the head: balanced, repeatable, resumable."""

import pytest
import torch

from svm_robot.errors import DataError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.trainer import DiscriminatorTrainer, draw_balanced


def trainer(seed: int = 0) -> DiscriminatorTrainer:
    torch.manual_seed(0)
    model = SvmRewardModel(SvmConfig(joints=["a", "b", "c"], action="none", device="cpu"))
    return DiscriminatorTrainer(model, batch=64, seed=seed)


def sides(gap: float = 2.0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(200, 3, generator=generator) + gap, torch.randn(20, 3, generator=generator) - gap


def test_batches_are_half_and_half_however_skewed_the_data() -> None:
    plus, minus = draw_balanced(1000, 3, 64, torch.Generator().manual_seed(0))
    assert len(plus) == len(minus) == 32
    assert set(minus.tolist()) == {0, 1, 2}


def test_successes_go_up_and_failures_down() -> None:
    fit = trainer()
    before = fit.update(*sides(), steps=1)
    after = fit.update(*sides(), steps=200)
    assert abs(before["logit_success"]) < 0.5
    assert after["loss"] < before["loss"]
    last = fit.update(*sides(), steps=1)
    assert last["logit_success"] > 2
    assert last["logit_failure"] < -2
    assert last["accuracy_balanced"] > 0.95


def test_equal_sides_stay_at_no_opinion_whatever_their_sizes() -> None:
    fit = trainer()
    generator = torch.Generator().manual_seed(2)
    numbers = fit.update(torch.randn(900, 3, generator=generator), torch.randn(900, 3, generator=generator)[:300], 100)
    assert abs(numbers["logit_success"]) < 0.3


@pytest.mark.parametrize("empty", [0, 1])
def test_one_empty_side_is_refused(empty: int) -> None:
    given = list(sides())
    given[empty] = torch.zeros(0, 3)
    with pytest.raises(DataError, match="both outcomes"):
        trainer().update(*given, steps=1)


def test_a_loss_that_is_not_finite_is_not_passed_over() -> None:
    plus, minus = sides()
    plus[:] = float("nan")
    with pytest.raises(DataError, match="not finite"):
        trainer().update(plus, minus, steps=2)


def test_a_resumed_trainer_is_equal_bit_for_bit() -> None:
    through = trainer()
    through.update(*sides(), steps=10)
    state = through.state_dict()
    resumed = trainer(seed=9)
    resumed.load_state_dict(state)
    through.update(*sides(), steps=10)
    resumed.update(*sides(), steps=10)
    for a, b in zip(through.model.head.parameters(), resumed.model.head.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_state_needs_no_pickle(tmp_path: object) -> None:
    path = f"{tmp_path}/trainer.pt"
    fit = trainer()
    fit.update(*sides(), steps=2)
    torch.save(fit.state_dict(), path)
    trainer().load_state_dict(torch.load(path, weights_only=True))
