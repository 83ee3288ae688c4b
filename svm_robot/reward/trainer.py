"""Gradient steps for the head of the discriminator: balanced batches, warm-started for ever."""

from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from svm_robot.errors import DataError
from svm_robot.reward.modeling_svm import SvmRewardModel

BATCH = 256


def discriminator_loss(logit: Tensor, success: Tensor) -> Tensor:
    """Binary cross entropy on the logit, minimised: -log f on successes, -log(1 - f) on failures.

    With half of the batch of each kind its minimiser is f / (1 - f) = w+/w-, so the logit is log w+/w-.
    """
    return F.binary_cross_entropy_with_logits(logit, success)


def draw_balanced(
    count_success: int, count_failure: int, batch: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Rows for half a batch of each outcome, drawn with replacement: (batch/2,) and (batch/2,)."""
    half = batch // 2
    return (
        torch.randint(count_success, (half,), generator=generator),
        torch.randint(count_failure, (half,), generator=generator),
    )


class DiscriminatorTrainer:
    """Trains the head of one reward model on ``SvmRewardModel.inputs`` kept by somebody else (replay, ``fit``)."""

    def __init__(self, model: SvmRewardModel, batch: int = BATCH, seed: int = 0) -> None:
        self.model, self.batch = model, batch
        self.device = next(model.head.parameters()).device
        self.optimizer = torch.optim.Adam(model.head.parameters(), lr=model.config.lr, fused=True)
        self.generator = torch.Generator().manual_seed(seed)

    def update(self, success_inputs: Tensor, failure_inputs: Tensor, steps: int) -> dict[str, float]:
        """``steps`` balanced steps on (N+, m) and (N-, m); returns means over the steps.

        Keys: loss [nats], accuracy_balanced, logit_success, logit_failure [nats].
        Raises ``DataError`` when a side is empty or the loss stops being finite.
        """
        if not len(success_inputs) or not len(failure_inputs):
            raise DataError(f"f needs both outcomes, got {len(success_inputs)} and {len(failure_inputs)} moments")
        success_inputs, failure_inputs = success_inputs.to(self.device), failure_inputs.to(self.device)
        half = self.batch // 2
        label = torch.cat([torch.ones(half), torch.zeros(half)]).to(self.device)
        totals = torch.zeros(4, device=self.device)
        for _ in range(steps):
            plus, minus = draw_balanced(len(success_inputs), len(failure_inputs), self.batch, self.generator)
            inputs = torch.cat([success_inputs[plus.to(self.device)], failure_inputs[minus.to(self.device)]])
            loss, logit = self._step(inputs, label)
            totals += torch.stack(
                [loss, ((logit > 0) == (label > 0)).float().mean(), logit[:half].mean(), logit[half:].mean()]
            )
        values = (totals / max(1, steps)).tolist()
        if steps and not torch.isfinite(totals).all():
            raise DataError(f"the discriminator's loss is {values[0]}: an input is not finite or the step is too large")
        return dict(zip(("loss", "accuracy_balanced", "logit_success", "logit_failure"), values, strict=True))

    def _step(self, inputs: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        logit = self.model.logits(inputs)
        loss = discriminator_loss(logit, label)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach(), logit.detach()

    def state_dict(self) -> dict[str, Any]:
        """A snapshot of head, optimiser and random state: tensors and plain values only."""
        live = {
            "head": self.model.head.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
        }
        return deepcopy(live)  # torch's own dictionaries share memory with what goes on training

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue exactly where ``state_dict`` was taken."""
        self.model.head.load_state_dict(state["head"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
