"""What every ``Policy`` must do, whoever acts. A new one is one more row of ``POLICIES``."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import toys
from toy_flow import tiny_flow

from svm_robot.drivers.teleop import TeleopPolicy
from svm_robot.drivers.teleop.hand import RelativeHand
from svm_robot.drivers.teleop.jog import JogHand
from svm_robot.drivers.teleop.takeover import TakeOver
from svm_robot.drivers.virtual.expert import ScriptedExpert
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.drivers.virtual.world import World
from svm_robot.learner.networks import Actor
from svm_robot.learner.pilot import ActorPilot
from svm_robot.policies.steering import GaussianPilot, SteeredPolicy, ZeroPilot
from svm_robot.rollout import Env, Policy, run_episode


@dataclass(frozen=True)
class Row:
    """A policy and the world it acts in."""

    make: Callable[[Env], Policy]
    world: Callable[[], Any] = toys.ToyEnv
    latent_dim: int | None = 6


def virtual() -> LockstepEnv:
    return LockstepEnv(World(cameras={"front": (16, 16)}))


class Leader:
    """A leader arm whose person stays a little ahead of the robot."""

    name, config = "leader", SimpleNamespace(use_degrees=True)

    def __init__(self, env: Any) -> None:
        self.env, self.action_features = env, dict.fromkeys(env.spec.joints, float)

    def get_action(self) -> dict[str, float]:
        return {joint: float(value) + 3 for joint, value in zip(self.env.spec.joints, self.env.q, strict=True)}


POLICIES = {
    "toy": Row(lambda env: toys.ToyPolicy(), latent_dim=2),
    "flow, sampled": Row(lambda env: SteeredPolicy(tiny_flow(), GaussianPilot(6, 1.5), 40)),
    "flow, zero noise": Row(lambda env: SteeredPolicy(tiny_flow(), ZeroPilot(6), 40)),
    "flow, actor": Row(lambda env: SteeredPolicy(tiny_flow(), ActorPilot(Actor(67, 6, 8, bound=1.5), True, 40), 40)),
    "script": Row(lambda env: ScriptedExpert(env.world, 1.0, seed=0), virtual, latent_dim=None),
    "teleoperator": Row(lambda env: TeleopPolicy(Leader(env), env.spec.joints, True), latent_dim=None),
    "relative leader": Row(lambda env: RelativeHand(TeleopPolicy(Leader(env), env.spec.joints, True)), latent_dim=None),
    "keys": Row(lambda env: JogHand(env.spec.joints), latent_dim=None),
    "policy with take-over": Row(lambda env: TakeOver(toys.ToyPolicy(), JogHand(env.spec.joints)), latent_dim=2),
}


@pytest.fixture(params=list(POLICIES))
def row(request: pytest.FixtureRequest) -> Row:
    return POLICIES[request.param]


@pytest.fixture
def env(row: Row) -> Iterator[Env]:
    with closing(row.world()) as made:
        yield made


def chunks(env: Env, policy: Policy, seed: int, count: int = 3) -> list[np.ndarray]:
    """The first chunks of an episode, without executing them."""
    env.reset(seed)
    policy.reset(seed)
    return [policy.act(env.observe()).copy() for _ in range(count)]


def test_a_chunk_is_absolute_finite_targets(row: Row, env: Env) -> None:
    for chunk in chunks(env, row.make(env), seed=0):
        assert chunk.ndim == 2 and len(chunk) >= 1 and chunk.shape[1] == len(env.spec.joints)
        assert chunk.dtype == np.float32 and np.isfinite(chunk).all()


def test_same_seed_same_chunks(row: Row, env: Env) -> None:
    policy = row.make(env)
    first, between, again = (chunks(env, policy, seed) for seed in (1, 2, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, between, strict=True))


def test_the_latent_is_that_of_the_last_chunk(row: Row, env: Env) -> None:
    policy = row.make(env)
    env.reset(0)
    policy.reset(0)
    assert policy.latent is None
    policy.act(env.observe())
    if row.latent_dim is None:
        assert policy.latent is None
    else:
        assert policy.latent.shape == (row.latent_dim,) and policy.latent.dtype == np.float32
        kept = policy.latent.copy()
        held = policy.latent
        policy.act(env.observe())
        assert np.array_equal(held, kept)  # a step that was handed the latent keeps it


def test_it_says_who_acts(row: Row, env: Env) -> None:
    assert row.make(env).source in ("policy", "script", "human")


def test_it_runs_an_episode(row: Row, env: Env) -> None:
    operator = toys.ToyOperator(env) if hasattr(env, "succeeded") else toys.ToyOperator(env.world)
    end = run_episode(env, row.make(env), operator, max_steps=7, seed=0)
    assert 1 <= end.steps <= 7
