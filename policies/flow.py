"""Flow matching: a velocity field that carries noise to actions, its training loss, its solver, its likelihood.

Convention: x_0 ~ N(0, I) at time 0, data x_1 at time 1, straight paths x_t = (1 - t) x_0 + t x_1, so the field learns
E[x_1 - x_0 | x_t, t, condition] and actions are its integral from 0 to 1.
Source: Lipman et al., Flow Matching for Generative Modeling, ICLR 2023.
"""

from collections.abc import Callable
from itertools import pairwise
from math import log, pi

import torch
from torch import Tensor, nn

Field = Callable[[Tensor, Tensor], Tensor]
"""(x (B, d), t (B, 1)) -> velocity (B, d), for a fixed condition."""


class VelocityField(nn.Module):
    """MLP on [condition, x, t] -> velocity."""

    def __init__(self, condition: int, dim: int, hidden: int, layers: int) -> None:
        super().__init__()
        widths = [condition + dim + 1] + [hidden] * layers
        blocks: list[nn.Module] = []
        for inner, outer in pairwise(widths):
            blocks += [nn.Linear(inner, outer), nn.SiLU()]
        self.net = nn.Sequential(*blocks, nn.Linear(widths[-1], dim))

    def forward(self, condition: Tensor, x: Tensor, t: Tensor) -> Tensor:
        """condition (B, C), x (B, d), t (B, 1) in 0..1 to (B, d)."""
        return self.net(torch.cat([condition, x, t], dim=1))  # type: ignore[no-any-return]


def matching_loss(field: Field, data: Tensor, weight: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Flow matching loss of each row, (B,): the mean square error of the velocity.

    ``weight`` (B, d) is 1 for the numbers that count and 0 for padding; a row without any costs 0.
    """
    noise = torch.randn(data.shape, generator=generator, device=data.device)
    t = torch.rand((len(data), 1), generator=generator, device=data.device)
    error = field(noise + t * (data - noise), t) - (data - noise)
    return (weight * error.square()).sum(dim=1) / weight.sum(dim=1).clamp(min=1.0)


def integrate(field: Field, noise: Tensor, steps: int) -> Tensor:
    """Euler from t = 0 (``noise``, (B, d)) to t = 1: deterministic given the noise."""
    x = noise
    for k in range(steps):
        t = torch.full((len(x), 1), k / steps, device=x.device, dtype=x.dtype)
        x = x + field(x, t) / steps
    return x


def negative_log_likelihood(field: Field, data: Tensor, steps: int = 16) -> Tensor:
    """-log p(x_1) [nats] of each row, (B,), by the change of variables along the exact ODE.

    log p(x_1) = log N(x_0; 0, I) - integral of div v over time, with the classical Runge-Kutta method (RK4) in
    ``steps`` steps from t = 1 back to 0 and the exact divergence (the whole Jacobian, no estimator).
    This is the density of the flow itself, not of the coarse Euler steps used when acting.
    """
    h = 1.0 / steps
    x, expansion = data, torch.zeros(len(data), device=data.device, dtype=data.dtype)
    for k in range(steps, 0, -1):
        t = k * h
        v1, d1 = _velocity_and_divergence(field, x, t)
        v2, d2 = _velocity_and_divergence(field, x - h / 2 * v1, t - h / 2)
        v3, d3 = _velocity_and_divergence(field, x - h / 2 * v2, t - h / 2)
        v4, d4 = _velocity_and_divergence(field, x - h * v3, t - h)
        x = x - h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
        expansion = expansion + h / 6 * (d1 + 2 * d2 + 2 * d3 + d4)
    return 0.5 * x.square().sum(dim=1) + 0.5 * data.shape[1] * log(2 * pi) + expansion


def _velocity_and_divergence(field: Field, x: Tensor, time: float) -> tuple[Tensor, Tensor]:
    """v(x, t), (B, d), and the trace of its Jacobian, (B,)."""
    t = torch.full((len(x), 1), time, device=x.device, dtype=x.dtype)
    basis = torch.eye(x.shape[1], device=x.device, dtype=x.dtype)
    with torch.enable_grad():
        place = x.detach().requires_grad_()
        velocity = field(place, t)
        rows = basis[:, None].expand(-1, len(x), -1)  # row i asks for the gradient of the i-th velocity
        jacobian = torch.autograd.grad(velocity, place, rows, is_grads_batched=True, materialize_grads=True)[0]
    return velocity.detach(), torch.einsum("ibi->b", jacobian)
