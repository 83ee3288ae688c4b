"""Noise steering: the base is the sampled pilot, one encoding per observation, same seed same actions."""

import numpy as np
import pytest
import torch
import toys

from svm_robot.errors import CheckpointError, DataError
from svm_robot.policies.configuration_svm_flow import SvmFlowConfig
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.policies.steering import GaussianPilot, SteeredPolicy, ZeroPilot


@pytest.fixture(scope="module")
def flow() -> SvmFlowPolicy:
    torch.manual_seed(0)
    config = SvmFlowConfig(device="cpu", chunk_size=3, hidden=32, layers=2)
    spec = toys.ToySpec()
    config.describe(spec.robot_type, list(spec.joints), dict(spec.cameras), spec.rate_hz)
    return SvmFlowPolicy(config)


def look(seed: int = 0) -> toys.ToyObservation:
    env = toys.ToyEnv()
    env.reset(seed)
    return env.observe()


def test_the_chunk_is_the_flows_own_for_that_noise(flow: SvmFlowPolicy) -> None:
    policy, seen = SteeredPolicy(flow, GaussianPilot(6, 1.5), horizon_steps=40), look()
    policy.reset(3)
    chunk = policy.act(seen)
    assert chunk.shape == (3, 2) and chunk.dtype == np.float32 and policy.latent is not None
    features = torch.from_numpy(flow.encode({role: frame[None] for role, frame in seen.frames.items()}))
    again = flow.generate(features, torch.from_numpy(seen.state)[None], torch.from_numpy(policy.latent)[None])
    np.testing.assert_allclose(chunk, again[0].numpy(), atol=1e-5)


def test_same_seed_same_actions_and_zero_noise_needs_none(flow: SvmFlowPolicy) -> None:
    policy = SteeredPolicy(flow, GaussianPilot(6, 1.5), horizon_steps=40)

    def act(seed: int) -> np.ndarray:
        policy.reset(seed)
        return policy.act(look())

    assert np.array_equal(act(1), act(1)) and not np.array_equal(act(1), act(2))
    zero = SteeredPolicy(flow, ZeroPilot(6), horizon_steps=40)
    zero.reset(1)
    first = zero.act(look())
    zero.reset(2)
    assert np.array_equal(first, zero.act(look())) and not zero.latent.any()


def test_noise_is_normal_bounded_and_apart_from_the_worlds_draws() -> None:
    pilot = GaussianPilot(4000, 1.5)
    pilot.reset(0)
    noise = pilot(np.zeros(1, np.float32))
    assert noise.dtype == np.float32 and np.abs(noise).max() == 1.5
    assert np.mean(np.abs(noise) == 1.5) == pytest.approx(0.134, abs=0.02)  # two tails of N(0, 1)
    world = np.random.default_rng(0).standard_normal(4000, np.float32).clip(-1.5, 1.5)
    assert abs(np.corrcoef(noise, world)[0, 1]) < 0.1


def test_vector_and_time(flow: SvmFlowPolicy) -> None:
    policy, seen = SteeredPolicy(flow, ZeroPilot(6), horizon_steps=40), look()
    policy.reset(0)
    vector = policy.vector_of(seen, 10)
    assert vector.shape == (flow.vector_size,) == (2 * 32 + 2 + 1,)
    assert vector[-1] == 0.25
    np.testing.assert_allclose(vector[-3:-1], seen.state)  # the untrained normaliser is the identity


def test_time_moves_on_by_the_chunk(flow: SvmFlowPolicy) -> None:
    asked = []

    class Notes(ZeroPilot):
        def __call__(self, vector: np.ndarray) -> np.ndarray:
            asked.append(float(vector[-1]))
            return super().__call__(vector)

    policy = SteeredPolicy(flow, Notes(6), horizon_steps=30)
    policy.reset(0)
    for _ in range(3):
        policy.act(look())
    policy.reset(0)
    policy.act(look())
    assert asked == pytest.approx([0, 0.1, 0.2, 0])


def test_one_observation_is_encoded_once(flow: SvmFlowPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, encode = [], flow.encode
    monkeypatch.setattr(flow, "encode", lambda frames: counted.append(1) or encode(frames))
    policy, seen = SteeredPolicy(flow, ZeroPilot(6), horizon_steps=40), look()
    policy.reset(0)
    policy.act(seen)
    vector = policy.vector_of(seen, 0)
    vector[:] = 9  # a listener that writes into its copy harms nobody
    assert not np.array_equal(policy.vector_of(seen, 0), vector)
    assert len(counted) == 1
    policy.vector_of(look(), 0)
    assert len(counted) == 2


def test_latency_comes_from_the_clock(flow: SvmFlowPolicy) -> None:
    times = iter([0.0, 0.002, 1.0, 1.004])
    policy = SteeredPolicy(flow, ZeroPilot(6), horizon_steps=40, clock=lambda: next(times))
    assert np.isnan(policy.latency_ms()[0])
    policy.reset(0)
    policy.act(look())
    policy.act(look())
    assert policy.latency_ms() == pytest.approx((3.0, 3.9))


def test_wrong_pilot_and_wrong_cameras_are_refused(flow: SvmFlowPolicy) -> None:
    policy = SteeredPolicy(flow, ZeroPilot(8), horizon_steps=40)
    policy.reset(0)
    with pytest.raises(CheckpointError, match=r"\(8,\), this flow policy takes \(6,\)"):
        policy.act(look())
    blind = toys.ToyEnv().observe(frames=False)
    with pytest.raises(DataError, match="missing front, wrist"):
        policy.act(blind)
