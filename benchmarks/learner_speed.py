"""Gradient steps per second of our learner and of LeRobot's SAC, side by side in one run on one thread.

Both do the same work per step: one critic step on two critics, one actor step, one temperature step, one target step,
on the same batch sizes and the same widths. Rounds of the two alternate, so a busy machine slows both; the ratio of
the medians is the figure to quote. LeRobot's networks have a linear encoder of the state in front, ours have none.

    python benchmarks/learner_speed.py [--json] [--rounds=30]
"""

import argparse
import logging
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
logging.getLogger().setLevel(logging.ERROR)

import torch  # noqa: E402  (the number of threads must be set before)
from table import show  # noqa: E402

from svm_robot.learner.sac import Sac, SacConfig, Transitions  # noqa: E402

STEPS = 5
"""Gradient steps per round."""


@dataclass(frozen=True)
class Sizes:
    """One row of the table."""

    name: str
    state: int
    action: int
    hidden: int
    batch: int


SIZES = (
    Sizes("state only, LeRobot's widths", 6, 6, 256, 256),
    Sizes("picture features and noise", 71, 24, 128, 128),
)


@dataclass(frozen=True)
class Row:
    """Medians over the rounds; CPU time counts only what this process used."""

    name: str
    batch: int
    hidden: int
    ours_ms: float
    lerobot_ms: float
    ours_cpu_ms: float
    lerobot_cpu_ms: float
    ours_per_s: float
    ratio: float
    """LeRobot's median wall time over ours."""


def ours(sizes: Sizes) -> Callable[[], object]:
    """One step of our learner, actor step included every time."""
    config = SacConfig(hidden=sizes.hidden, actor_every=1)
    sac = Sac(sizes.state, sizes.action, config, critic_bias=0.0, seed=0)
    batch = Transitions(
        vector=torch.rand(sizes.batch, sizes.state),
        latent=torch.rand(sizes.batch, sizes.action) * 2 - 1,
        reward=torch.rand(sizes.batch),
        next_vector=torch.rand(sizes.batch, sizes.state),
        continues=torch.ones(sizes.batch),
    )
    return lambda: sac.update(batch)


def lerobot(sizes: Sizes) -> Callable[[], object]:
    """One step of LeRobot's SAC without pictures."""
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.gaussian_actor import GaussianActorConfig, GaussianActorPolicy
    from lerobot.rl.algorithms.factory import make_algorithm, make_algorithm_config

    config = GaussianActorConfig(
        input_features={"observation.state": PolicyFeature(FeatureType.STATE, (sizes.state,))},
        output_features={"action": PolicyFeature(FeatureType.ACTION, (sizes.action,))},
        device="cpu",
        latent_dim=sizes.hidden,
        state_encoder_hidden_dim=sizes.hidden,
    )
    config.actor_network_kwargs.hidden_dims = [sizes.hidden, sizes.hidden]
    settings = make_algorithm_config("sac", utd_ratio=1, policy_update_freq=1)
    settings.policy_config = config
    settings.critic_network_kwargs.hidden_dims = [sizes.hidden, sizes.hidden]
    algorithm = make_algorithm(settings, GaussianActorPolicy(config))
    algorithm.make_optimizers_and_scheduler()
    batch = {
        "state": {"observation.state": torch.rand(sizes.batch, sizes.state)},
        "next_state": {"observation.state": torch.rand(sizes.batch, sizes.state)},
        "action": torch.rand(sizes.batch, sizes.action) * 2 - 1,
        "reward": torch.rand(sizes.batch),
        "done": torch.zeros(sizes.batch),
        "truncated": torch.zeros(sizes.batch),
        "complementary_info": None,
    }
    batches = iter(lambda: {k: dict(v) if isinstance(v, dict) else v for k, v in batch.items()}, None)
    return lambda: algorithm.update(batches)


def timed(step: Callable[[], object]) -> tuple[float, float]:
    """(wall, CPU) milliseconds of one step, averaged over a round."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(STEPS):
        step()
    return 1e3 * (time.perf_counter() - wall) / STEPS, 1e3 * (time.process_time() - cpu) / STEPS


def compare(sizes: Sizes, rounds: int) -> Row:
    """Alternate rounds of both."""
    torch.manual_seed(0)
    contenders = {"ours": ours(sizes), "lerobot": lerobot(sizes)}
    for step in contenders.values():
        timed(step)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, step in contenders.items():
            times[name].append(timed(step))
    wall = {name: statistics.median(t[0] for t in found) for name, found in times.items()}
    cpu = {name: statistics.median(t[1] for t in found) for name, found in times.items()}
    return Row(
        name=sizes.name,
        batch=sizes.batch,
        hidden=sizes.hidden,
        ours_ms=wall["ours"],
        lerobot_ms=wall["lerobot"],
        ours_cpu_ms=cpu["ours"],
        lerobot_cpu_ms=cpu["lerobot"],
        ours_per_s=1e3 / wall["ours"],
        ratio=wall["lerobot"] / wall["ours"],
    )


def main() -> None:
    """Print the table, or the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=30, help=f"rounds of {STEPS} steps per contender")
    options = parser.parse_args()
    torch.set_num_threads(1)
    show([asdict(compare(sizes, options.rounds)) for sizes in SIZES], options.json)


if __name__ == "__main__":
    main()
