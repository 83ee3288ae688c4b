"""``svm-robot evaluate RIG``: success rate of a policy on a rig, with its interval."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError
from svm_robot.rollout import EpisodeEnd, EpisodeStart, Listener, Operator, Outcome, Step
from svm_robot.rollout.evaluate import Evaluation, evaluate

if TYPE_CHECKING:
    from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
    from svm_robot.policies.steering import SteeredPolicy
    from svm_robot.scripts.cell import Cell

USAGE = "svm-robot evaluate RIG --policy=PATH [--episodes=100] [--noise=auto|sampled|zero] [--judge]"


@dataclass(kw_only=True)
class EvaluateConfig(RigConfig):
    """What to measure, beside the options of the rig."""

    policy: Path  # checkpoint of 'pretrain', or RUN/best of 'finetune'
    episodes: int = 100  # fresh episodes; 100 tell a rate to about +-.1
    noise: Literal["auto", "sampled", "zero"] = "auto"  # auto: the finetuned pilot if there is one, else sampled
    judge: bool = False  # let the virtual world say the outcome, instead of the keys s/f/u/d
    json: bool = False  # print the figures as JSON

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.episodes < 1:
            raise ConfigError(f"episodes is {self.episodes}; run at least 1")


def main(args: list[str]) -> int:
    """Run the episodes and print the count, the interval and the time a decision takes."""
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(EvaluateConfig, options, rig=words[0], usage=USAGE)

    import torch

    from svm_robot.policies.checkpoint import load_flow

    torch.set_num_threads(1)
    policy = steered(load_flow(config.policy), config.noise, config.max_steps, config.policy)
    result = run(config, policy, config.episodes, config.judge, [Progress(config.episodes)])
    p50, p95 = policy.latency_ms()
    if config.json:
        figures: dict[str, Any] = {**result.to_json(), "noise": config.noise, "seed": config.seed}
        print(json.dumps({**figures, "act_ms": {"p50": p50, "p95": p95}} if p50 == p50 else figures, indent=2))
    else:
        print(f"success {result}, {result.mean_steps:.0f} steps an episode; a decision takes {p50:.1f}/{p95:.1f} ms")
    return 0


def steered(flow: "SvmFlowPolicy", noise: str, max_steps: int, folder: Path | None = None) -> "SteeredPolicy":
    """The flow with its noise chosen as asked; ``auto`` takes the finetuned pilot in ``folder`` if one lies there.

    Noise is drawn within the bound of that pilot's run, so that this base is the one its run measured; without a pilot
    within the bound that runs have by default.
    """
    from svm_robot.learner.pilot import has_pilot, load_pilot
    from svm_robot.learner.sac import SacConfig
    from svm_robot.policies.steering import GaussianPilot, SteeredPolicy, ZeroPilot

    dim = flow.config.latent_dim
    if noise == "zero":
        return SteeredPolicy(flow, ZeroPilot(dim), max_steps)
    finetuned = load_pilot(folder) if folder is not None and has_pilot(folder) else None
    if noise == "auto" and finetuned is not None:
        return SteeredPolicy(flow, finetuned, finetuned.horizon_steps)  # its own clock, whatever this rig's limit is
    bound = SacConfig.bound if finetuned is None else finetuned.actor.bound
    return SteeredPolicy(flow, GaussianPilot(dim, bound), max_steps)


def run(
    rig: RigConfig, policy: "SteeredPolicy", episodes: int, judge: bool, listeners: Sequence[Listener]
) -> Evaluation:
    """Open the rig, check that the policy is one for it, and count. Nothing moves when it is not."""
    from svm_robot.policies.checkpoint import check_fits
    from svm_robot.scripts.cell import open_cell

    with open_cell(rig) as cell, who_judges(cell, judge) as operator, cell.ending.motors_first():
        check_fits(policy.flow, cell.env.spec)
        return evaluate(
            cell.env,
            policy,
            operator,
            episodes=episodes,
            seed=rig.seed,
            max_steps=rig.max_steps,
            task=rig.task,
            listeners=[cell.ending.patient(listener, "ending the display") for listener in listeners],
        )


@contextmanager
def who_judges(cell: "Cell", judge: bool) -> Iterator[Operator]:
    """The world's judge, or the person at the keys."""
    from svm_robot.drivers.terminal.operator import TerminalOperator

    if judge:
        yield cell.judge()
    else:
        with TerminalOperator() as operator:
            yield operator


class Progress:
    """A bar for the person at the terminal; silent when standard error is no terminal."""

    needs_every_frame = False

    def __init__(self, episodes: int) -> None:
        from tqdm import tqdm

        self.bar, self.successes = tqdm(total=episodes, desc="evaluate", disable=None, leave=False), 0

    def on_start(self, start: EpisodeStart) -> None:
        """Nothing to show yet."""

    def on_step(self, step: Step) -> None:
        """Episodes count, not steps."""

    def on_end(self, end: EpisodeEnd) -> None:
        """One more."""
        self.successes += end.outcome is Outcome.SUCCESS
        self.bar.set_postfix(successes=self.successes, refresh=False)
        self.bar.update()
        if self.bar.n == self.bar.total:
            self.bar.close()
