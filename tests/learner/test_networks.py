import torch
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform

from svm_robot.learner.networks import Actor, CriticEnsemble


def test_the_ensemble_is_that_many_separate_critics() -> None:
    torch.manual_seed(0)
    critics = CriticEnsemble(5, members=3, hidden=16, bias=-2.0)
    vector, latent = torch.randn(7, 3), torch.randn(7, 2)
    together = critics(vector, latent)
    x = torch.cat((vector, latent), dim=1)
    for k in range(3):
        h = torch.relu(torch.layer_norm(x @ critics.w1[k] + critics.b1[k], (16,), critics.g1[k, 0], critics.h1[k, 0]))
        h = torch.relu(torch.layer_norm(h @ critics.w2[k] + critics.b2[k], (16,), critics.g2[k, 0], critics.h2[k, 0]))
        alone = h @ critics.w3[k, 0] + critics.b3[k]
        assert torch.allclose(together[k], alone, atol=1e-5)
    assert not torch.allclose(together[0], together[1])


def test_members_do_not_learn_from_each_other() -> None:
    critics = CriticEnsemble(3, members=2, hidden=8)
    critics(torch.randn(4, 2), torch.randn(4, 1))[0].sum().backward()
    assert critics.w1.grad is not None
    assert critics.w1.grad[0].abs().sum() > 0
    assert critics.w1.grad[1].abs().sum() == 0


def test_critics_start_at_their_bias() -> None:
    torch.manual_seed(0)
    value = CriticEnsemble(20, bias=-16.6)(torch.randn(200, 12), torch.randn(200, 8))
    assert (value + 16.6).abs().mean() < 0.6


def test_the_actor_stays_inside_its_bound_and_begins_near_the_base() -> None:
    torch.manual_seed(0)
    actor = Actor(6, 4, bound=1.5)
    vector = torch.randn(500, 6) * 3
    latent, _ = actor.sample(vector)
    assert latent.abs().max() <= 1.5
    mean, log_std = actor(vector)
    assert mean.abs().mean() < 0.1
    assert log_std.abs().mean() < 0.1
    assert actor.mean(vector).abs().max() < 0.6


def test_the_density_is_that_of_a_squashed_gaussian() -> None:
    torch.manual_seed(0)
    actor = Actor(6, 4, bound=1.5)
    vector = torch.randn(50, 6)
    latent, log_density = actor.sample(vector, torch.Generator().manual_seed(3))
    mean, log_std = actor(vector)
    known = TransformedDistribution(Normal(mean, log_std.exp()), TanhTransform(cache_size=1))
    expected = known.log_prob(latent / 1.5).sum(dim=-1)
    assert torch.allclose(log_density, expected, atol=1e-3)


def test_the_density_stays_finite_where_tanh_saturates() -> None:
    actor = Actor(2, 1, bound=1.5)
    with torch.no_grad():
        actor.head.bias[0] = 40.0
    latent, log_density = actor.sample(torch.zeros(3, 2))
    assert torch.isfinite(log_density).all()
    assert torch.allclose(latent, torch.full((3, 1), 1.5))
