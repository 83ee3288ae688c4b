"""``svm-robot finetune RIG``: finetune a policy on a rig from success and failure."""

from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError
from svm_robot.learner.config import FinetuneConfig

if TYPE_CHECKING:
    from svm_robot.learner.workplace import Result
    from svm_robot.rollout.env import EnvSpec
    from svm_robot.scripts.finetune_parts import Offline, Parts

USAGE = "svm-robot finetune RIG --policy=PATH --reward=PATH --run=PATH [--offline=DATASET] [--judge] [--resume]"


@dataclass(kw_only=True)
class FinetuneVerbConfig(RigConfig, FinetuneConfig):
    """What to finetune and where to keep it, beside the rig and the learner's settings."""

    policy: Path  # checkpoint of the flow policy to steer ('svm-robot pretrain' writes one)
    reward: Path  # reward model that goes on learning ('svm-robot fit-reward' writes one)
    run: Path  # folder of this run: journal, checkpoints, kept policies
    offline: Path | None = None  # labelled episodes of this policy; in from the first step (a resumed run has them)
    judge: bool = False  # let the virtual world say the outcome, instead of the keys s/f/u/d
    resume: bool = False  # go on from the newest checkpoint in --run

    def __post_init__(self) -> None:
        RigConfig.__post_init__(self)
        FinetuneConfig.__post_init__(self)
        if self.run.exists() and not self.resume and (not self.run.is_dir() or any(self.run.iterdir())):
            raise ConfigError(f"{self.run} already exists; continue that run with --resume, or choose another --run")

    @property
    def learning(self) -> FinetuneConfig:
        """The learner's part."""
        return FinetuneConfig(**{field.name: getattr(self, field.name) for field in fields(FinetuneConfig)})


def main(args: list[str]) -> int:
    """Finetune, say how it goes, and name what was kept."""
    from svm_robot.scripts.cli import parse, split_positionals, warn

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(FinetuneVerbConfig, options, rig=words[0], usage=USAGE)
    hovering = config.reward_constants.loiter_bound
    if config.shaping != "outcome" and hovering > 0:
        warn(f"lambda * beta is above 1 + step cost: hovering can pay {hovering:g} a decision")

    import torch

    from svm_robot.learner.finetune import Finetuner
    from svm_robot.scripts.cell import open_cell
    from svm_robot.scripts.evaluate import who_judges
    from svm_robot.scripts.finetune_parts import Parts, Progress

    torch.set_num_threads(1)
    with ExitStack() as stack:
        parts = Parts.load(config.policy, config.reward, config.max_steps)
        cell = stack.enter_context(open_cell(config))
        parts.check(cell.env.spec)
        offline = recorded(parts, config, cell.env.spec)
        check_budget(config.steps, sum(episode.steps for episode in offline.episodes))
        operator = stack.enter_context(who_judges(cell, config.judge))
        progress = stack.enter_context(Progress(config.steps))
        work = parts.workplace(cell.env, operator, config.task, config.learning, progress.say, offline)
        tuner = Finetuner(work, config.learning, config.run)
        tuner.prepare(offline.episodes, config.resume)
        progress.begin(tuner.counters.env_steps)
        try:
            with cell.ending.motors_first():
                result = tuner.run([*parts.listeners(config.run, config.learning, tuner.counters), progress])
        except KeyboardInterrupt:
            progress.say(
                f"stopped after {tuner.counters.env_steps} steps; the last whole episode is saved in {config.run}"
            )
            progress.say("go on with the same command and --resume")
            return 130
    print(summary(config.run, result, parts.live_score_ms()))
    return 0


def recorded(parts: "Parts", config: FinetuneVerbConfig, spec: "EnvSpec") -> "Offline":
    """The recorded episodes to begin with. Labels that have changed since something was trained from them are told."""
    from svm_robot.data import load_dataset
    from svm_robot.scripts.finetune_parts import Offline
    from svm_robot.scripts.stale import warn_if_stale

    if config.offline is None:
        return Offline()
    if config.resume:  # the run has them, with the outcomes they had when it began
        warn_if_stale([config.run], load_dataset(config.offline, frames=False))
        return Offline()
    offline = parts.offline(config.offline, spec)
    warn_if_stale([config.policy, config.reward], load_dataset(config.offline, frames=False))
    return offline


def check_budget(steps: int, used: int) -> None:
    """``ConfigError`` when the recorded episodes alone use the budget up: the run would measure and learn nothing."""
    if used >= steps:
        raise ConfigError(
            f"--steps={steps} leaves nothing to learn with: --offline episodes count, and hold {used} steps"
        )


def summary(run: Path, result: "Result", live: "dict[str, float] | None") -> str:
    """The last lines: what came out, how long a score took, what to do next."""
    lines = [f"{result.env_steps} steps used ({result.reason})"]
    if result.final is not None:
        lines.append(f"kept policy, fresh episodes: {result.final}")
    if result.best is not None:
        lines.append(f"kept policy: {run / 'best'} (svm-robot evaluate RIG --policy={run / 'best'})")
    if live is not None:
        lines.append(f"live score: {live['p50']:.1f} ms, p95 {live['p95']:.1f} ms")
    return "\n".join([*lines, f"look at it: svm-robot report {run}"])
