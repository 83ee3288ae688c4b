"""The method's two facts, on tables: the classifier's logit is log w+/w-, and maximising r_svm still succeeds."""

import numpy as np
import pytest
import torch

from svm_robot.reward.forms import RewardBatch, Shaping, clip_beta, svm
from svm_robot.reward.trainer import discriminator_loss

STATES, ACTIONS, STEPS = 6, 3, 6


def test_the_optimal_classifier_is_the_visitation_ratio() -> None:
    """f = w+ / (w+ + w-) gives logit log w+/w-, and there the balanced loss has no slope."""
    rng = np.random.default_rng(0)
    plus, minus = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(40))
    f = plus / (plus + minus)
    logit = torch.tensor(np.log(f / (1 - f)), requires_grad=True)
    assert torch.allclose(clip_beta(logit, 20.0), torch.tensor(np.log(plus / minus)).clamp(-20, 20))
    losses = [
        plus[i] * discriminator_loss(logit[i], torch.ones((), dtype=torch.float64))
        + minus[i] * discriminator_loss(logit[i], torch.zeros((), dtype=torch.float64))
        for i in range(40)
    ]
    (slope,) = torch.autograd.grad(torch.stack(losses).sum(), logit)
    assert slope.abs().max() < 1e-12


def test_the_sign_of_the_loss() -> None:
    """Minimising pushes the logit of successes UP and that of failures DOWN."""
    logit = torch.zeros(2, requires_grad=True)
    discriminator_loss(logit, torch.tensor([1.0, 0.0])).backward()
    assert logit.grad is not None
    assert logit.grad[0] < 0 < logit.grad[1]


class Table:
    """A random deterministic MDP that starts in state 0; episodes end at success in state STATES - 1 or after STEPS."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.next = rng.integers(0, STATES, (STATES, ACTIONS))
        self.behaviour = rng.dirichlet(np.ones(ACTIONS), STATES)  # every action has some probability
        self.goal = STATES - 1

    def log_ratio(self) -> np.ndarray:
        """(STEPS, S, A) log w+/w- of the behaviour, computed exactly; +-inf where one side is 0."""
        reach = np.zeros((STEPS + 1, STATES))  # probability of being at s after h steps, not having succeeded
        reach[0, 0] = 1
        wins = np.zeros((STEPS + 1, STATES))  # probability of success from s with steps left
        wins[:, self.goal] = 1
        for h in reversed(range(STEPS)):
            for s in range(STATES - 1):
                wins[h, s] = (self.behaviour[s] * wins[h + 1, self.next[s]]).sum()
        for h in range(STEPS):
            for s in range(STATES - 1):
                np.add.at(reach[h + 1], self.next[s], reach[h, s] * self.behaviour[s])
            reach[h + 1, self.goal] = 0
        pair = reach[:STEPS, :, None] * self.behaviour
        win = wins[1:, :][:, self.next]
        with np.errstate(divide="ignore", invalid="ignore"):
            plus, minus = pair * win, pair * (1 - win)
            return np.log(plus / plus.sum((1, 2), keepdims=True)) - np.log(minus / minus.sum((1, 2), keepdims=True))

    def rewards(self, shaping: Shaping) -> np.ndarray:
        """(STEPS, S, A) r_svm with the exact step-indexed ratio; pairs that are never visited give nothing."""
        ratio = torch.tensor(np.nan_to_num(self.log_ratio(), nan=0.0, posinf=1e9, neginf=-1e9)).reshape(-1, 1)
        terminal = torch.tensor(np.broadcast_to(self.next == self.goal, (STEPS, STATES, ACTIONS)).reshape(-1).copy())
        return svm(RewardBatch(terminal, ratio), lambda x: x[:, 0], shaping).numpy().reshape(STEPS, STATES, ACTIONS)

    def best_path_succeeds(self, rewards: np.ndarray) -> bool:
        """Follow the policy that maximises the sum of ``rewards``."""
        value = np.zeros((STEPS + 1, STATES))
        choice = np.zeros((STEPS, STATES), int)
        for h in reversed(range(STEPS)):
            goes_on = np.where(self.next == self.goal, 0.0, value[h + 1][self.next])
            q = rewards[h] + goes_on
            choice[h], value[h] = q.argmax(1), q.max(1)
        state = 0
        for h in range(STEPS):
            state = self.next[state, choice[h, state]]
            if state == self.goal:
                return True
        return False

    def can_succeed(self) -> bool:
        seen = {0}
        for _ in range(STEPS):
            seen |= {int(n) for s in seen if s != self.goal for n in self.next[s]}
        return self.goal in seen


@pytest.mark.parametrize("shaping", [Shaping(0.1, 20.0, 0.0), Shaping(1.0, 1.0, 0.0), Shaping()])
def test_in_deterministic_worlds_the_optimum_of_svm_succeeds(shaping: Shaping) -> None:
    tables = [Table(seed) for seed in range(150)]
    possible = [table for table in tables if table.can_succeed()]
    assert len(possible) > 90
    failed = [table for table in possible if not table.best_path_succeeds(table.rewards(shaping))]
    assert failed == []


def test_the_check_can_fail() -> None:
    """With the sign of the ratio turned round the same search does find policies that do not succeed."""
    possible = [table for table in (Table(seed) for seed in range(60)) if table.can_succeed()]
    turned = [-table.rewards(Shaping()) for table in possible]
    assert not all(table.best_path_succeeds(r) for table, r in zip(possible, turned, strict=True))
