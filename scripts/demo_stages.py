"""The stages of the demo, in the order a lab would go through them."""

import json
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from svm_robot.data.labels import LabelLog
from svm_robot.rollout import Outcome
from svm_robot.scripts.demo import DemoConfig
from svm_robot.scripts.stages import Stages, command

SHAPINGS = ("svm", "outcome")
BASE_LOW, BASE_HIGH, ZERO_LEAST = 0.15, 0.45, 0.5
"""A base worth steering: bad enough to need it, good enough at zero noise to have something to steer to."""
LEAST_OF_EACH = 6
"""Successes and failures among the base's rollouts before a reward is fitted on them."""


@dataclass(frozen=True)
class Plan:
    """How much of everything. Found by measuring on two cores; the quick one has the easier task, too."""

    rig: str = "virtual_so101.yaml"
    demos: int = 200
    more_demos: int = 40
    attempts: int = 3
    clone_steps: int = 2500
    check_episodes: int = 100
    rollouts: int = 30
    rollout_rounds: int = 3
    finetune_steps: int = 9000
    eval_every: int = 1000
    eval_episodes: int = 40
    baseline_episodes: int = 50
    final_episodes: int = 60
    seeds: int = 2


QUICK = Plan(
    rig="virtual_so101_lift.yaml",
    demos=60,
    attempts=1,
    clone_steps=600,
    check_episodes=20,
    rollouts=20,
    finetune_steps=2000,
    eval_every=1000,
    eval_episodes=20,
    baseline_episodes=20,
    final_episodes=30,
    seeds=1,
)


class Demo:
    """Paths and numbers of one demo; each method is one stage."""

    def __init__(self, cfg: DemoConfig) -> None:
        self.cfg, self.plan = cfg, QUICK if cfg.quick else Plan()
        self.out = cfg.out
        self.rig = cfg.rig or str(shipped_rigs() / self.plan.rig)
        self.demos, self.policy = self.out / "demonstrations", self.out / "policy"
        self.rollouts, self.reward = self.out / "rollouts", self.out / "reward"
        self.page, self.summary = self.out / "report.html", self.out / "summary.json"
        self.seed = {"seed": cfg.seed}
        self.stages = Stages(self.out / "logs", total=8)

    def record(self, episodes: int) -> None:
        """A clumsy scripted operator; the simulator's judge labels."""
        self.stages.verb(
            command(
                "record", self.rig, dataset=self.demos, episodes=episodes, control="script", judge=True, **self.seed
            )
        )

    def pretrain(self, attempt: int) -> None:
        """Clone everything the operator did, good and bad: that is what makes the base worth finetuning."""
        steps = self.plan.clone_steps + attempt * self.plan.clone_steps // 4
        self.stages.verb(
            command("pretrain", self.demos, out=self.policy, steps=steps, on="all", overwrite=True, **self.seed)
        )

    def check_base(self) -> dict[str, dict[str, Any]]:
        """Success of the base with sampled and with zero noise, on the same starts."""
        fixed = {"policy": self.policy, "episodes": self.plan.check_episodes, "judge": True, "json": True}
        return {
            noise: json.loads(
                self.stages.told(command("evaluate", self.rig, noise=noise, seed=7000 + self.cfg.seed, **fixed))
            )
            for noise in ("sampled", "zero")
        }

    def base(self) -> None:
        """Record and clone until zero noise succeeds often enough, or the attempts are used up; say which."""
        for attempt in range(self.plan.attempts):
            with self.stages.stage("record demonstrations"):
                self.record(self.plan.demos if attempt == 0 else self.plan.more_demos)
            with self.stages.stage("pretrain the base policy"):
                self.pretrain(attempt)
            with self.stages.stage("check the base"):
                found = self.check_base()
            sampled, zero = found["sampled"]["rate"], found["zero"]["rate"]
            print(f"base: sampled noise {sampled:.2f}, zero noise {zero:.2f} (the ceiling of steering shows here)")
            if sampled >= BASE_LOW and zero >= ZERO_LEAST:
                break
            if attempt + 1 < self.plan.attempts:
                print(f"too weak to steer (wanted {BASE_LOW} and {ZERO_LEAST}): recording and training more")
            else:
                print(f"note: weaker than wanted ({BASE_LOW} and {ZERO_LEAST}); going on, the report will show it")
        if sampled > BASE_HIGH:
            print(f"note: this base is better than the {BASE_HIGH} the demo aims for, so there is less to gain")

    def roll_out(self) -> None:
        """The base acts and its noise is recorded: what the reward learns from, and the finetuning's offline data."""
        acting = {"control": "policy", "policy": self.policy, "noise": "sampled", "judge": True}
        seed = 1000 + self.cfg.seed
        for _ in range(self.plan.rollout_rounds):
            self.stages.verb(
                command("record", self.rig, dataset=self.rollouts, episodes=self.plan.rollouts, seed=seed, **acting)
            )
            counts = Counter(label.outcome for label in LabelLog(self.rollouts).current().values())
            if min(counts[Outcome.SUCCESS], counts[Outcome.FAILURE]) >= LEAST_OF_EACH:
                return
            print(f"fewer than {LEAST_OF_EACH} of one outcome, too few to tell them apart")

    def fit_reward(self) -> None:
        """Successes against failures, on the base's own frozen features."""
        self.stages.verb(
            command("fit-reward", self.rollouts, out=self.reward, policy=self.policy, action="noise", **self.seed)
        )

    def score(self) -> None:
        """Scores and their video, to look at before trusting them."""
        self.stages.verb(command("score", self.reward, self.rollouts, out=self.out / "scores", video=True))

    def finetune(self) -> list[Path]:
        """Both reward forms, every seed: the same data, the same budget, the same critic initialisation."""
        plan, first = self.plan, self.cfg.seed
        seeds = range(first, first + (self.cfg.seeds or plan.seeds))
        fixed = {
            "policy": self.policy,
            "reward": self.reward,
            "offline": self.rollouts,
            "judge": True,
            "steps": plan.finetune_steps,
            "eval_every": plan.eval_every,
            "eval_episodes": plan.eval_episodes,
            "baseline_episodes": plan.baseline_episodes,
            "final_episodes": plan.final_episodes,
        }
        pairs = [(seed, shaping) for seed in seeds for shaping in SHAPINGS]
        folders = {f"{shaping}-{seed}": self.out / f"{shaping}-{seed}" for seed, shaping in pairs}
        commands = {
            f"{shaping}-{seed}": command(
                "finetune", self.rig, run=folders[f"{shaping}-{seed}"], shaping=shaping, seed=seed, **fixed
            )
            for seed, shaping in pairs
        }
        self.stages.parallel(commands, self.cfg.workers, list(folders.values()), plan.finetune_steps)
        return list(folders.values())

    def report(self, runs: list[Path]) -> None:
        """One page for people, one file for programs."""
        seconds = self.stages.write(self.out / "stages.json")
        self.stages.verb(
            command(
                "report",
                *runs,
                out=self.page,
                summary=self.summary,
                base=self.rollouts,
                stages=seconds,
            )
        )


def run_demo(cfg: DemoConfig) -> Path:
    """All stages; returns the summary. Anything that fails stops the demo with that stage's own message."""
    demo = Demo(cfg)
    demo.base()
    with demo.stages.stage("record the base's own rollouts"):
        demo.roll_out()
    with demo.stages.stage("fit the reward"):
        demo.fit_reward()
    with demo.stages.stage("score the rollouts"):
        demo.score()
    with demo.stages.stage("finetune: svm beside outcome"):
        runs = demo.finetune()
    with demo.stages.stage("write the report"):
        demo.report(runs)
    print(demo.stages.table())
    print(f"\nreport:  {demo.page}\nsummary: {demo.summary}")
    return demo.summary


def shipped_rigs() -> Path:
    """The folder of rig files that come with the toolkit."""
    return Path(str(files("svm_robot"))) / "rigs"
