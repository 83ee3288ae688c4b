"""The flow policy as the method and as LeRobot use it."""

import numpy as np
import pytest
import torch
import toys
from toy_flow import look, tiny_config, tiny_flow

from svm_robot.errors import ConfigError, DataError
from svm_robot.policies.chunks import Statistics
from svm_robot.policies.modeling_svm_flow import Scale, SvmFlowPolicy


def batch(count: int = 5, chunk: int = 3) -> dict[str, torch.Tensor]:
    """As LeRobot's loader makes it."""
    draws = torch.Generator().manual_seed(0)
    pictures = torch.randint(0, 256, (2, count, 3, 32, 32), generator=draws) / 255
    return {
        "observation.images.front": pictures[0],
        "observation.images.wrist": pictures[1],
        "observation.state": torch.randn(count, 2, generator=draws),
        "action": torch.randn(count, chunk, 2, generator=draws),
        "action_is_pad": torch.zeros(count, chunk, dtype=torch.bool),
    }


def frames_of(pictures: torch.Tensor) -> np.ndarray:
    return (pictures * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()


def with_statistics(policy: SvmFlowPolicy) -> SvmFlowPolicy:
    policy.set_statistics(
        Statistics(
            np.float32([1, 2]),
            np.float32([3, 0]),
            np.float32([[0.5, 7]] * 3),
            np.float32([[2, 0], [4, 0], [6, 0]]),
        )
    )
    return policy


def test_generate_is_joints_plus_delta_and_a_constant_target_stays_constant() -> None:
    policy = with_statistics(tiny_flow())
    for parameter in policy.field.parameters():
        parameter.data.zero_()  # a field of zeros leaves the noise as it is
    state, noise = torch.tensor([[10.0, 20.0]]), torch.arange(6.0).reshape(1, 6)
    targets = policy.generate(torch.zeros(1, 64), state, noise)
    expected = torch.tensor([[[10.5, 27.0], [10.5 + 2 * 4, 27.0], [10.5 + 4 * 6, 27.0]]])
    torch.testing.assert_close(targets, expected)
    torch.testing.assert_close(policy.generate(torch.zeros(1, 64), state, noise.reshape(1, 3, 2)), targets)
    nats = policy.nll_nats(torch.zeros(1, 64), state, targets)
    torch.testing.assert_close(nats, policy.nll_nats_normal(state, targets))
    assert nats.item() == pytest.approx(3 * np.log(2 * np.pi) + 0.5 * (0 + 4 + 16), rel=1e-5)


def test_vectors_are_features_joints_and_time() -> None:
    policy, seen = with_statistics(tiny_flow()), look()
    frames = {role: np.stack([frame, frame]) for role, frame in seen.frames.items()}
    vectors = policy.vectors(frames, np.float32([[4, 2], [1, 99]]), np.float32([0.25, 0.5]))
    assert vectors.shape == (2, policy.vector_size) and vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[:, :64], policy.encode(frames))
    np.testing.assert_allclose(vectors[:, 64:], [[1, 0, 0.25], [0, 0, 0.5]], atol=1e-6)  # a constant joint reads 0


def test_a_constant_number_never_becomes_nan() -> None:
    scale = Scale((2,))
    scale.set(np.float32([5, 0]), np.float32([0, 2]))
    values = torch.tensor([[5.0, 1.0], [6.0, 1.0]])
    torch.testing.assert_close(scale.normalise(values), torch.tensor([[0.0, 0.5], [0.0, 0.5]]))
    torch.testing.assert_close(scale.denormalise(torch.ones(1, 2)), torch.tensor([[5.0, 2.0]]))


def test_lerobots_path_and_ours_agree() -> None:
    policy, given = tiny_flow(), batch()
    noise = torch.randn(5, 6)
    features = policy.encode({role: frames_of(given[f"observation.images.{role}"]) for role in ("front", "wrist")})
    ours = policy.generate(torch.from_numpy(features), given["observation.state"], noise)
    torch.testing.assert_close(policy.predict_action_chunk(given, noise=noise), ours)
    torch.testing.assert_close(torch.stack([policy.select_action(given, noise=noise) for _ in range(3)], dim=1), ours)


def test_select_action_uses_the_chunk_up_and_reset_forgets_it() -> None:
    policy, given = tiny_flow(), batch(1)
    first = policy.select_action(given, noise=torch.zeros(1, 6))
    second = policy.select_action(given, noise=torch.ones(1, 6))  # still the chunk in hand
    policy.reset()
    assert torch.equal(policy.select_action(given, noise=torch.zeros(1, 6)), first)
    assert torch.equal(policy.select_action(given, noise=torch.ones(1, 6)), second)
    draws = {float(policy.predict_action_chunk(given).sum()) for _ in range(3)}
    assert len(draws) == 3  # without noise given, it is drawn


def test_padded_steps_do_not_train() -> None:
    policy, given = tiny_flow(), batch()
    given["action_is_pad"][:, 1:] = True

    def loss(action: torch.Tensor) -> float:
        torch.manual_seed(0)
        return policy.forward({**given, "action": action})[0].item()

    shifted = given["action"].clone()
    policy.field.net[0].weight.data[:, -7:-1] = 0  # the noisy chunk itself is an input; look at the loss alone
    assert loss(given["action"]) == loss(torch.cat([shifted[:, :1], shifted[:, 1:] + 100], dim=1))
    given["action_is_pad"][:] = True
    assert loss(shifted) == 0


def test_forward_gives_a_loss_that_trains_everything() -> None:
    policy, given = tiny_flow().train(), batch()
    loss, numbers = policy.forward(given)
    loss.backward()
    assert numbers["flow_loss"] == pytest.approx(loss.item())
    still = [
        name for name, parameter in policy.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert not still
    each, _ = policy.forward(given, reduction="none")
    assert each.shape == (5,)
    assert {id(p) for p in policy.get_optim_params()} == {id(p) for p in policy.parameters()}


def test_wrong_batches_are_refused() -> None:
    policy, given = tiny_flow(), batch()
    with pytest.raises(DataError, match=r"expected action \(B, 3, 2\), got \(5, 2\)"):
        policy.forward({**given, "action": given["action"][:, 0]})
    given.pop("observation.images.wrist")
    with pytest.raises(DataError, match=r"no observation.images.wrist"):
        policy.forward(given)


def test_features_it_cannot_use_are_refused() -> None:
    config = tiny_config()
    config.describe("toy", ["a.pos", "b.pos"], {}, 10.0)
    with pytest.raises(ConfigError, match="1 to 4 cameras"):
        SvmFlowPolicy(config)
    config.describe("toy", ["a.pos", "b.pos"], {str(n): (8, 8) for n in range(5)}, 10.0)
    with pytest.raises(ConfigError, match="1 to 4 cameras"):
        config.validate_features()
    config.describe("toy", ["a.pos"], dict(toys.ToySpec().cameras), 10.0)
    config.output_features["action"].shape = (2,)
    with pytest.raises(ConfigError, match="of the same joints"):
        config.validate_features()
