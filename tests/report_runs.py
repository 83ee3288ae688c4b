"""Made-up runs, written with the real Journal: learning curves that look like learning curves, exactly repeatable."""

from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.data.journal import Journal
from svm_robot.report.examples import FOLDER, Example, write_example
from svm_robot.rollout.episode import Outcome

RATE_HZ = 10.0


@dataclass(frozen=True)
class Curve:
    """Success rate over environment steps: ``start`` rising to ``top`` around ``middle``."""

    start: float = 0.3
    top: float = 0.96
    middle: float = 3000.0
    width: float = 700.0

    def at(self, env_steps: float) -> float:
        return self.start + (self.top - self.start) / (1 + exp(-(env_steps - self.middle) / self.width))


@dataclass(frozen=True)
class MadeRun:
    """What to make up."""

    shaping: str = "svm"
    seed: int = 0
    curve: Curve = field(default_factory=Curve)
    budget: int = 8000
    eval_every: int = 2000
    eval_episodes: int = 50
    about: dict[str, Any] = field(default_factory=dict)


def write_run(folder: Path, made: MadeRun, *, end: bool = True, final: bool = True) -> Path:
    """Write a journal of ``made`` into ``folder`` and return the folder."""
    rng = np.random.default_rng((made.seed, made.shaping == "svm"))
    journal = Journal(folder)
    journal.write("run", **_about(made))
    journal.write("baseline", noise="sampled", successes=30 + made.seed, episodes=100, mean_steps=66.0)
    journal.write("baseline", noise="zero", successes=57, episodes=100, mean_steps=58.0)
    steps, episode, next_eval = 0, 0, made.eval_every
    while steps < made.budget:
        success = bool(rng.random() < made.curve.at(steps))
        length = int(rng.integers(36, 60)) if success else 80
        steps += length
        _episode(journal, rng, made, episode, steps, length, success)
        episode += 1
        if steps >= next_eval:
            _evaluation(journal, rng, made, steps)
            next_eval += made.eval_every
    if final:
        _evaluation(journal, rng, made, steps, kind="final")
    if end:
        journal.write("end", reason="budget", env_steps=steps, robot_minutes=minutes(steps), **_ending())
    return folder


def minutes(env_steps: int) -> float:
    return env_steps / RATE_HZ / 60


def _about(made: MadeRun) -> dict[str, Any]:
    return {
        "verb": "finetune",
        "shaping": made.shaping,
        "seed": made.seed,
        "config": {"shaping": made.shaping, "seed": made.seed, "lambda": 0.1, "beta": 20.0,
                   "eval_every": made.eval_every, "learner": {"gamma": 0.98}},
        "versions": {"svm_robot": "0.1.0", "lerobot": "0.6.1", "torch": "2.11.0"},
        "chunk": 4,
        "critic_start": -16.6,
        "rate_hz": RATE_HZ,
        "robot_type": "virtual_so101",
        "task": "Put the red cube on the blue disc.",
        "policy": "runs/demo/policy",
        "reward": "runs/demo/reward",
        "identity": {"policy": "0f1e", "reward": "2d3c"},
        "offline_steps": 2400,
    } | made.about  # fmt: skip


def _episode(
    journal: Journal, rng: np.random.Generator, made: MadeRun, episode: int, steps: int, length: int, success: bool
) -> None:
    share = steps / made.budget
    logit = float((5 + 5 * share if success else -9 - 8 * share) + rng.normal() * 2)
    journal.write(
        "episode", episode=episode, env_steps=steps, robot_minutes=minutes(steps),
        outcome="success" if success else "failure", steps=length, mean_logit=logit,
        mean_probability=1 / (1 + exp(-logit)), prequential=logit, seconds=0.1,
    )  # fmt: skip
    journal.write(
        "discriminator", env_steps=steps, loss=0.3 * exp(-3 * share) + 0.02,
        auc_recent=None if episode < 5 else 0.98 - 0.12 * exp(-4 * share) + 0.01 * float(rng.normal()),
        auc_recent_first=None if episode < 5 else 0.7,
        mean_logit_success=5 + 5 * share, mean_logit_failure=-9 - 8 * share,
        visitation_gap_nats=-6 + 14 * made.curve.at(steps) + 0.4 * float(rng.normal()),
    )  # fmt: skip
    journal.write(
        "learner", env_steps=steps, updates=120 * (episode + 1), critic_loss=2 * exp(-2 * share) + 0.3,
        q_mean=-16 + 8 * share, entropy=8 * exp(-share), alpha=0.1 * exp(-2 * share), kl_nats=3 + 9 * share,
        reward_mean=-1.0 + 0.6 * share, updates_per_s=420.0, temperature=4 - 1.5 * share,
    )  # fmt: skip


def _evaluation(
    journal: Journal, rng: np.random.Generator, made: MadeRun, steps: int, kind: str = "evaluation"
) -> None:
    rate = made.curve.at(steps)
    successes = int(rng.binomial(made.eval_episodes, rate))
    journal.write(kind, env_steps=steps, robot_minutes=minutes(steps), successes=successes,
                  episodes=made.eval_episodes, mean_steps=80 - 35 * rate, best=True)  # fmt: skip


def _ending() -> dict[str, Any]:
    return {
        "seconds_by_stage": {"episodes": 12.0, "discriminator": 6.5, "learner": 58.2, "evaluation": 18.3, "save": 2.1},
        "live_score_ms": {"p50": 0.42, "p95": 0.71},
    }


def write_examples(run: Path) -> None:
    """Two made-up example episodes with moving coloured squares."""
    for outcome, end, steps in ((Outcome.SUCCESS, 9.0, 48), (Outcome.FAILURE, -14.0, 80)):
        decision = np.arange(0, steps, 4)
        logit = np.linspace(0, end, len(decision)) + np.sin(decision / 5)
        places = np.linspace(0, steps, 12).astype(int)
        example = Example(
            "late", 90, 6200, outcome, "Put the red cube on the blue disc.", steps, RATE_HZ, decision,
            logit.astype(np.float32), (1 / (1 + np.exp(-logit))).astype(np.float32), places,
            {"front": _pictures(places), "wrist": _pictures(places[::-1])},
        )  # fmt: skip
        write_example(run / FOLDER / f"late-{outcome}.npz", example)


def _pictures(places: NDArray[np.int64]) -> NDArray[np.uint8]:
    pictures = np.full((len(places), 64, 64, 3), 225, np.uint8)
    for picture, place in zip(pictures, places, strict=True):
        picture[40:, :] = (205, 190, 170)
        picture[20:30, 4 + place // 2 : 14 + place // 2] = (200, 50, 40)
    return pictures
