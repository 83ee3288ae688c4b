"""Reward forms: pure functions from a sampled batch and the current classifier to rewards.

Everything here runs at SAMPLING time: a batch is drawn, the newest f scores it, nothing is stored. A form is one row
of ``FORMS``; all have the same signature, so the learner does not know which one it uses. Time counts in decisions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from svm_robot.errors import ConfigError

Classifier = Callable[[Tensor], Tensor]
"""f: (B, m) reward inputs -> (B,) raw logit = log w+/w-."""


@dataclass(frozen=True)
class RewardBatch:
    """B sampled decisions, as far as a reward form may look at them."""

    terminal: Tensor
    """(B,) bool: the decision ended its episode by SUCCESS. A time-out is not terminal."""
    inputs: Tensor
    """(B, m) what f reads of (s, a): ``SvmRewardModel.inputs``."""
    next_inputs: Tensor | None = None
    """(B, m) the same of the next decision (the last one of the episode repeats itself); only some forms need it."""

    @property
    def outcome(self) -> Tensor:
        """(B,) r_out: -1 per decision, 0 on the decision that ends in success."""
        return self.terminal.to(self.inputs.dtype) - 1.0


@dataclass(frozen=True)
class Shaping:
    """The constants of equation (1) and the loiter guard."""

    lam: float = 0.1
    """lambda: what one nat of clipped logit is worth beside a decision's cost of 1."""
    beta: float = 20.0
    """Logits are clipped to [-beta, beta] [nats]."""
    step_cost: float = 1.0
    """Loiter guard: extra cost of every decision that does not end in success. Without it a logit above 1 / lambda
    pays more per decision than the decision costs, and hovering near the goal beats finishing."""

    def __post_init__(self) -> None:
        if not 0 <= self.lam < float("inf"):
            raise ConfigError(f"lambda must be 0 or more, got {self.lam}")
        if not 0 < self.beta < float("inf"):
            raise ConfigError(f"beta must be above 0, got {self.beta}")
        if not 0 <= self.step_cost < float("inf"):
            raise ConfigError(f"the loiter guard (step cost) must be 0 or more, got {self.step_cost}")

    @property
    def loiter_bound(self) -> float:
        """The most that a decision which does not finish can ever pay. At or below 0, hovering cannot pay."""
        return self.lam * self.beta - 1.0 - self.step_cost


class RewardForm(Protocol):
    """One way to turn outcome and classifier into a reward."""

    def __call__(self, batch: RewardBatch, f: Classifier, shaping: Shaping = ..., /) -> Tensor:
        """(B,) rewards per decision, without gradient."""


def clip_beta(logit: Tensor, beta: float) -> Tensor:
    """clip_beta(x) = x if |x| <= beta else beta * sign(x). NaN stays NaN, so that nobody mistakes it for a score."""
    return logit.clamp(-beta, beta)


def outcome(batch: RewardBatch, f: Classifier, shaping: Shaping = Shaping(), /) -> Tensor:
    """The sparse reward alone: r_out. f and the shaping are not looked at."""
    return batch.outcome


def svm(batch: RewardBatch, f: Classifier, shaping: Shaping = Shaping(), /) -> Tensor:
    """Equation (1) with the loiter guard: (1 + step_cost) * r_out + lambda * clip_beta(log w+/w-)."""
    with torch.no_grad():
        bonus = clip_beta(f(batch.inputs), shaping.beta)
        return (1.0 + shaping.step_cost) * batch.outcome + shaping.lam * bonus


FORMS: dict[str, RewardForm] = {"outcome": outcome, "svm": svm}
"""Every reward form by the name that ``--shaping`` takes."""


def form_named(name: str) -> RewardForm:
    """The form called ``name``; ``ConfigError`` lists the names there are."""
    if name not in FORMS:
        raise ConfigError(f"unknown shaping '{name}'; there are: {', '.join(FORMS)}")
    return FORMS[name]
