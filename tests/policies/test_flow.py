"""Flow matching: the loss, the solver, and a likelihood checked against densities known in closed form."""

from math import exp, log, pi

import pytest
import torch
from torch import Tensor

from svm_robot.policies.flow import VelocityField, integrate, matching_loss, negative_log_likelihood


def normal_nats(x: Tensor, std: float) -> Tensor:
    return (0.5 * (x / std) ** 2 + log(std) + 0.5 * log(2 * pi)).sum(dim=1)


def test_a_field_of_zeros_is_the_standard_normal() -> None:
    x = torch.randn(7, 24, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(negative_log_likelihood(lambda x, t: 0 * x, x), normal_nats(x, 1.0))


@pytest.mark.parametrize("rate", [-0.7, 0.4])
def test_a_linear_field_stretches_the_normal(rate: float) -> None:
    x = torch.randn(7, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    nats = negative_log_likelihood(lambda x, t: rate * x, x)  # x_1 = e^rate x_0
    torch.testing.assert_close(nats, normal_nats(x, exp(rate)), rtol=1e-6, atol=1e-6)


def test_the_exact_path_between_two_normals() -> None:
    """v = E[x_1 - x_0 | x_t] for x_1 ~ N(3, .2^2): the best possible field; its density is that normal."""
    mean, std = 3.0, 0.2

    def field(x: Tensor, t: Tensor) -> Tensor:
        variance = (1 - t) ** 2 + (t * std) ** 2
        return mean + (t * std**2 - (1 - t)) / variance * (x - t * mean)

    x = mean + std * torch.randn(50, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(
        negative_log_likelihood(field, x, steps=64), normal_nats(x - mean, std), rtol=1e-3, atol=2e-3
    )
    noise = torch.randn(4000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    made = integrate(field, noise, steps=50)
    assert made.mean().item() == pytest.approx(mean, abs=0.02) and made.std().item() == pytest.approx(std, abs=0.03)


def test_the_density_of_a_network_integrates_to_one() -> None:
    torch.manual_seed(0)
    net = VelocityField(condition=1, dim=1, hidden=16, layers=2)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(2.0)
    x = torch.linspace(-9, 9, 2001)[:, None]
    with torch.no_grad():
        nats = negative_log_likelihood(lambda x, t: net(torch.zeros(len(x), 1), x, t), x)
    assert torch.trapezoid(torch.exp(-nats), x[:, 0]).item() == pytest.approx(1.0, abs=1e-3)


def test_the_divergence_is_the_trace_also_where_numbers_mix() -> None:
    matrix = torch.tensor([[0.3, 2.0], [-2.0, 0.1]], dtype=torch.float64)
    x = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    back = x @ torch.matrix_exp(-matrix).T
    expected = normal_nats(back, 1.0) + 0.4  # trace
    torch.testing.assert_close(negative_log_likelihood(lambda x, t: x @ matrix.T, x), expected, rtol=1e-5, atol=1e-5)


def test_loss_is_zero_for_the_true_velocity_and_counts_only_what_has_weight() -> None:
    data = torch.tensor([[1.0, 5.0], [2.0, 7.0]])

    def toward(target: Tensor, x: Tensor, t: Tensor) -> Tensor:
        return (target - x) / (1 - t)

    seed = torch.Generator().manual_seed(0)
    whole = matching_loss(lambda x, t: toward(data, x, t), data, torch.ones(2, 2), seed)
    torch.testing.assert_close(whole, torch.zeros(2), atol=1e-6, rtol=0)
    wrong = data + torch.tensor([0.0, 3.0])
    weight = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    masked = matching_loss(lambda x, t: toward(wrong, x, t), data, weight, seed)
    torch.testing.assert_close(masked, torch.zeros(2), atol=1e-6, rtol=0)
    assert matching_loss(lambda x, t: toward(wrong, x, t), data, torch.ones(2, 2), seed).min() > 1


def test_one_euler_step_is_the_field_at_time_zero() -> None:
    noise = torch.tensor([[1.0, -2.0]])
    torch.testing.assert_close(integrate(lambda x, t: 3 * x + t, noise, 1), 4 * noise)
    torch.testing.assert_close(integrate(lambda x, t: 2 * t.expand_as(x), noise, 4), noise + 0.75)
