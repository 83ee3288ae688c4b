"""How far the steering policy has gone from the base's own noise N(0, I), in nats per decision.

Both are reverse KL(pi || base), exact up to rounding, not sampled. Two references, because tanh bounds the noise:
``pretanh_kl`` compares the Gaussians before tanh, ``latent_kl`` the noise that the flow policy really gets.
"""

from math import log, pi

import numpy as np
import torch
from torch import Tensor

from svm_robot.learner.networks import log_tanh_slope


def pretanh_kl(mean: Tensor, log_std: Tensor) -> Tensor:
    """KL(N(mean, std^2) || N(0, I)) of u, before tanh; closed form. (B, d), (B, d) -> (B,) [nats].

    tanh is one-to-one, so this is also the KL between w and the squashed base noise bound * tanh(u), u ~ N(0, I).
    """
    return 0.5 * (mean.square() + (2 * log_std).exp() - 1 - 2 * log_std).sum(dim=-1)


def latent_kl(mean: Tensor, log_std: Tensor, bound: float, nodes: int = 64) -> Tensor:
    """KL(pi(w) || N(0, I)) of w = bound * tanh(u) itself. (B, d), (B, d) -> (B,) [nats].

    log pi(w) - log N(w; 0, 1) is averaged over u by Gauss-Hermite quadrature, component by component.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    z = torch.as_tensor(points, dtype=mean.dtype, device=mean.device)
    share = torch.as_tensor(weights / weights.sum(), dtype=mean.dtype, device=mean.device)
    u = mean[..., None] + log_std.exp()[..., None] * z
    log_slope = ((log_tanh_slope(u) + log(bound)) * share).sum(dim=-1)
    square = ((bound * u.tanh()).square() * share).sum(dim=-1)
    entropy = log_std + 0.5 * log(2 * pi * torch.e) + log_slope
    return (0.5 * (log(2 * pi) + square) - entropy).sum(dim=-1)
