"""The two networks of the learner: an ensemble of critics in one pass, and a bounded Gaussian actor.

Symbols: s is what the learner sees of one decision (n numbers), w the latent noise it chooses (d numbers).
"""

from math import log, pi

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DENSITY_CONSTANT = 2 * log(2) + 0.5 * log(2 * pi)
"""Per component: the constant of a standard normal and of the slope of tanh [nats]."""


class CriticEnsemble(nn.Module):
    """Q_1(s, w) ... Q_E(s, w): E independent critics, evaluated as one batched network.

    Each is Linear, LayerNorm, ReLU, twice, then one number. Their last bias starts at ``bias``: critics that start
    at the scale of the cost-to-go do not mistake the unknown for the good.
    """

    def __init__(self, inputs: int, members: int = 2, hidden: int = 128, bias: float = 0.0) -> None:
        super().__init__()
        self.w1, self.b1 = uniform_layer(members, inputs, hidden)
        self.w2, self.b2 = uniform_layer(members, hidden, hidden)
        self.g1, self.h1 = norm_layer(members, hidden)
        self.g2, self.h2 = norm_layer(members, hidden)
        last, _ = uniform_layer(members, hidden, 1)
        self.w3 = nn.Parameter(last.detach().transpose(1, 2).contiguous())
        self.b3 = nn.Parameter(torch.full((members, 1), bias))

    def forward(self, vector: Tensor, latent: Tensor) -> Tensor:
        """(B, n), (B, d) -> (E, B)."""
        x = torch.cat((vector, latent), dim=1)
        x = torch.baddbmm(self.b1, x.expand(len(self.w1), *x.shape), self.w1)
        x = normalised(x, self.g1, self.h1).relu()
        x = torch.baddbmm(self.b2, x, self.w2)
        x = normalised(x, self.g2, self.h2).relu()
        return (x * self.w3).sum(dim=-1) + self.b3


class Actor(nn.Module):
    """pi(w | s): w = bound * tanh(u) with u ~ N(mean(s), std(s)^2), every component on its own."""

    LOG_STD_RANGE = (-5.0, 2.0)

    def __init__(self, inputs: int, latent: int, hidden: int = 128, *, bound: float) -> None:
        super().__init__()
        self.inputs, self.latent, self.hidden, self.bound = inputs, latent, hidden, bound
        self.body = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
        )
        self.head = nn.Linear(hidden, 2 * latent)
        with torch.no_grad():  # starts near the base's own noise: u about N(0, 1) whatever s is
            self.head.weight.mul_(0.1)
            self.head.bias.zero_()

    def forward(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """(B, n) -> mean and log std of u, each (B, d)."""
        mean, log_std = self.head(self.body(vector)).chunk(2, dim=-1)
        return mean, log_std.clamp(*self.LOG_STD_RANGE)

    def sample(self, vector: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """(B, n) -> reparametrised w (B, d) and log pi(w / bound | s) (B,) [nats].

        The density is that of w / bound in the unit box, so that a target entropy means the same for every bound:
        log N(u; mean, std^2) - log(1 - tanh(u)^2), summed over components.
        """
        mean, log_std = self(vector)
        z = torch.empty_like(mean).normal_(generator=generator)
        u = torch.addcmul(mean, log_std.exp(), z)
        cost = torch.addcmul(log_std, z, z, value=0.5).sub(torch.logaddexp(u, -u), alpha=2)
        density: Tensor = cost.sum(dim=-1).neg() - self.latent * DENSITY_CONSTANT
        return u.tanh().mul(self.bound), density

    def mean(self, vector: Tensor) -> Tensor:
        """(B, n) -> the deterministic choice bound * tanh(mean), (B, d)."""
        mean: Tensor = self(vector)[0]
        return mean.tanh().mul(self.bound)


def log_tanh_slope(u: Tensor) -> Tensor:
    """log(1 - tanh(u)^2), exact also where tanh saturates: 2 log 2 - 2 log(e^u + e^-u)."""
    return 2 * (log(2) - torch.logaddexp(u, -u))


def normalised(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """LayerNorm over the last axis with each member's own gain and shift; x (E, B, H)."""
    return torch.addcmul(shift, F.layer_norm(x, x.shape[-1:]), gain)


def uniform_layer(members: int, inputs: int, outputs: int) -> tuple[nn.Parameter, nn.Parameter]:
    """Weights (E, inputs, outputs) and bias (E, 1, outputs), drawn as ``nn.Linear`` draws its own."""
    limit = inputs**-0.5
    weight = torch.empty(members, inputs, outputs).uniform_(-limit, limit)
    return nn.Parameter(weight), nn.Parameter(torch.empty(members, 1, outputs).uniform_(-limit, limit))


def norm_layer(members: int, width: int) -> tuple[nn.Parameter, nn.Parameter]:
    """Gain 1 and shift 0, each (E, 1, width)."""
    return nn.Parameter(torch.ones(members, 1, width)), nn.Parameter(torch.zeros(members, 1, width))
