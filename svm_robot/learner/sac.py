"""Soft actor-critic on the latent noise of a frozen policy (noise steering).

    y      = r + gamma (1 - terminal) [ min_i Q'_i(s', w') - alpha log pi(w'|s') ],   w' ~ pi(.|s')
    critic   min sum_i  mean (Q_i(s, w) - y)^2
    actor    min        mean (alpha log pi(w|s) - min_i Q_i(s, w)),                   w ~ pi(.|s)
    alpha    moves until the entropy of pi is the target
    target   Q' <- (1 - tau) Q' + tau Q

Only success is terminal; a time-out bootstraps from the last observation. One step is one decision (one action chunk).
Sources: Haarnoja et al. 2018 (SAC); Wagenmaker et al. 2025 (DSRL: the action is the noise).
"""

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from svm_robot.learner.networks import Actor, CriticEnsemble


@dataclass(frozen=True)
class SacConfig:
    """Settings of the learner; the defaults are those of the picture task."""

    gamma: float = 0.98  # discount per decision
    learning_rate: float = 3e-4  # of actor, critics and temperature
    tau: float = 0.005  # how fast the target critics follow
    alpha: float = 0.1  # temperature at the start
    target_entropy: float = 0.0  # of the noise divided by its bound [nats per decision]
    critics: int = 2  # size of the ensemble; the least of them is believed
    hidden: int = 128  # width of both hidden layers
    bound: float = 1.5  # the noise stays in -bound..bound
    actor_every: int = 2  # critic steps per actor step


@dataclass(frozen=True)
class Transitions:
    """B decisions as the learner wants them, rewards already computed."""

    vector: Tensor  # (B, n)
    latent: Tensor  # (B, d)
    reward: Tensor  # (B,)
    next_vector: Tensor  # (B, n)
    continues: Tensor  # (B,) 0 where the decision ended in success, else 1


def cost_to_go(step_cost: float, gamma: float, decisions: int) -> float:
    """What an episode that never succeeds costs: -step_cost (1 - gamma^H) / (1 - gamma).

    Critics of EVERY reward form start here, so that a comparison of rewards is not one of optimism.
    """
    if gamma == 1:
        return -step_cost * decisions
    return -step_cost * (1 - gamma**decisions) / (1 - gamma)


class FlatWeights:
    """All weights of a module laid end to end in one tensor, of which they become views.

    One optimiser or averaging step over the flat tensor costs a tenth of one over every small weight.
    """

    def __init__(self, module: nn.Module) -> None:
        self.weights = list(module.parameters())
        self.flat = nn.Parameter(torch.cat([weight.detach().reshape(-1) for weight in self.weights]))
        parts = torch.split(self.flat.detach(), [weight.numel() for weight in self.weights])
        for weight, part in zip(self.weights, parts, strict=True):
            weight.data = part.view_as(weight)

    def set_gradient(self, loss: Tensor) -> None:
        """Put d loss / d weights where the optimiser looks for it; no other gradient is computed."""
        gradients = torch.autograd.grad(loss, self.weights)
        self.flat.grad = torch.cat([gradient.reshape(-1) for gradient in gradients])


class Sac:
    """Actor, critics, their targets and optimisers. ``update`` is one gradient step."""

    def __init__(self, inputs: int, latent: int, config: SacConfig, critic_bias: float, seed: int) -> None:
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = Actor(inputs, latent, config.hidden, bound=config.bound)
            self.critics = CriticEnsemble(inputs + latent, config.critics, config.hidden, critic_bias)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.log_alpha = torch.tensor(config.alpha).log().requires_grad_()
        self.critic_weights, self.target_weights = FlatWeights(self.critics), FlatWeights(self.targets)
        self.actor_weights = FlatWeights(self.actor)
        rate = config.learning_rate
        self.critic_optimizer = torch.optim.Adam([self.critic_weights.flat], lr=rate, fused=True)
        self.actor_optimizer = torch.optim.Adam([self.actor_weights.flat, self.log_alpha], lr=rate, fused=True)
        self.generator = torch.Generator().manual_seed(seed)
        self.updates = 0

    def update(self, batch: Transitions) -> dict[str, float]:
        """One critic step, every second time one actor and temperature step, then the target step."""
        numbers = self.critic_step(batch, self.target(batch))
        self.updates += 1
        if self.updates % self.config.actor_every == 0:
            numbers |= self.actor_step(batch)
        self.target_step()
        return numbers

    @torch.no_grad()
    def target(self, batch: Transitions) -> Tensor:
        """y of the formula above, (B,)."""
        latent, log_density = self.actor.sample(batch.next_vector, self.generator)
        value = self.targets(batch.next_vector, latent).amin(dim=0) - self.log_alpha.exp() * log_density
        target: Tensor = batch.reward + self.config.gamma * batch.continues * value
        return target

    def critic_step(self, batch: Transitions, target: Tensor) -> dict[str, float]:
        """Move every critic towards the target."""
        values = self.critics(batch.vector, batch.latent)
        loss = (values - target).square().mean(dim=1).sum()
        self.critic_weights.set_gradient(loss)
        self.critic_optimizer.step()
        return {"critic_loss": loss.item(), "q_mean": values.detach().mean().item()}

    def actor_step(self, batch: Transitions) -> dict[str, float]:
        """Move the actor towards better noise and the temperature towards the target entropy."""
        latent, log_density = self.actor.sample(batch.vector, self.generator)
        alpha = self.log_alpha.exp().detach()
        value = self.critics(batch.vector, latent).amin(dim=0)
        loss = (alpha * log_density - value).mean()
        self.actor_weights.set_gradient(loss)
        entropy = -log_density.detach().mean()
        # d/d(log alpha) of  log alpha * (entropy - target entropy)
        self.log_alpha.grad = entropy - self.config.target_entropy
        self.actor_optimizer.step()
        return {"entropy": entropy.item(), "alpha": alpha.item()}

    @torch.no_grad()
    def target_step(self) -> None:
        """Q' <- (1 - tau) Q' + tau Q."""
        self.target_weights.flat.lerp_(self.critic_weights.flat, self.config.tau)

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs to go on with equal weights."""
        return {
            "actor": self.actor.state_dict(),
            "critics": self.critics.state_dict(),
            "targets": self.targets.state_dict(),
            "log_alpha": self.log_alpha.detach().clone(),
            "actor_optimizer": self.actor_optimizer.state_dict(),
            "critic_optimizer": self.critic_optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "updates": self.updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The reverse of ``state_dict``."""
        self.actor.load_state_dict(state["actor"])
        self.critics.load_state_dict(state["critics"])
        self.targets.load_state_dict(state["targets"])
        with torch.no_grad():
            self.log_alpha.copy_(state["log_alpha"])
        self.actor_optimizer.load_state_dict(state["actor_optimizer"])
        self.critic_optimizer.load_state_dict(state["critic_optimizer"])
        self.generator.set_state(state["generator"])
        self.updates = state["updates"]
