from math import log

import torch
from torch.distributions import Normal, kl_divergence

from svm_robot.learner.divergence import latent_kl, pretanh_kl
from svm_robot.learner.networks import log_tanh_slope

MEAN = torch.tensor([[0.0, 0.0, 0.0], [0.5, -1.0, 0.2], [2.0, 0.0, -2.0]], dtype=torch.float64)
LOG_STD = torch.tensor([[0.0, 0.0, 0.0], [-0.5, 0.3, 0.0], [-2.0, -1.0, 0.5]], dtype=torch.float64)


def test_pretanh_kl_is_the_closed_form() -> None:
    known = kl_divergence(Normal(MEAN, LOG_STD.exp()), Normal(0.0, 1.0)).sum(dim=-1)
    assert torch.allclose(pretanh_kl(MEAN, LOG_STD), known)
    assert pretanh_kl(MEAN, LOG_STD)[0] == 0


def test_pretanh_kl_against_samples() -> None:
    torch.manual_seed(0)
    pi = Normal(MEAN, LOG_STD.exp())
    u = pi.sample((200_000,))
    sampled = (pi.log_prob(u) - Normal(0.0, 1.0).log_prob(u)).sum(dim=-1).mean(dim=0)
    assert torch.allclose(pretanh_kl(MEAN, LOG_STD), sampled, atol=0.03)


def test_latent_kl_against_samples() -> None:
    """The noise the policy really gets, against N(0, I), both by sampling and by quadrature."""
    torch.manual_seed(0)
    pi, bound = Normal(MEAN, LOG_STD.exp()), 1.5
    u = pi.sample((400_000,))
    w = bound * u.tanh()
    log_pi = pi.log_prob(u) - log_tanh_slope(u) - log(bound)
    sampled = (log_pi - Normal(0.0, 1.0).log_prob(w)).sum(dim=-1).mean(dim=0)
    assert torch.allclose(latent_kl(MEAN, LOG_STD, bound), sampled, atol=0.03)


def test_latent_kl_grows_as_the_policy_collapses() -> None:
    stds = torch.tensor([[0.0], [-1.0], [-2.0], [-3.0]])
    values = latent_kl(torch.zeros(4, 1), stds, 1.5)
    assert (values.diff() > 0).all()
    assert values[0] >= 0
