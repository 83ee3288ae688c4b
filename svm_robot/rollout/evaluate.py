"""How good is a policy: fresh episodes, counted, with an interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svm_robot.errors import ConfigError
from svm_robot.rollout.env import Env
from svm_robot.rollout.episode import EpisodeEnd, Outcome
from svm_robot.rollout.listener import Listener
from svm_robot.rollout.loop import run_episode
from svm_robot.rollout.operator import Operator
from svm_robot.rollout.policy import Policy
from svm_robot.stats import wilson

_STREAM = 0xE7A1
"""Keeps evaluation starts apart from recording and training starts made from the same user seed."""


@dataclass(frozen=True)
class Evaluation:
    """Outcomes of one evaluation. Only success and failure count; unsure and aborted episodes are listed apart."""

    successes: int
    episodes: int
    """Episodes with a verdict (success or failure)."""
    undecided: int
    """Episodes that ended unsure or aborted; in no rate."""
    interval: tuple[float, float]
    """95 % Wilson interval of the success rate."""
    mean_steps: float
    """Mean length of the episodes that count [control steps]; 0 when there are none."""
    steps: int
    """Control steps of all episodes together."""
    stopped: bool
    """True when the operator stopped before all episodes were run."""

    @property
    def rate(self) -> float:
        """Success rate; 0 when nothing counts (the interval then is 0 to 1)."""
        return self.successes / self.episodes if self.episodes else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values for a journal, a summary file or ``--json``."""
        return {
            "successes": self.successes,
            "episodes": self.episodes,
            "undecided": self.undecided,
            "rate": self.rate,
            "interval": list(self.interval),
            "mean_steps": self.mean_steps,
            "steps": self.steps,
            "stopped": self.stopped,
        }

    def __str__(self) -> str:
        low, high = self.interval
        text = f"{self.successes}/{self.episodes} = {self.rate:.2f} (95 %: {low:.2f} to {high:.2f})"
        return text + (f", {self.undecided} undecided" if self.undecided else "")


def evaluate(
    env: Env,
    policy: Policy,
    operator: Operator,
    *,
    episodes: int,
    seed: int,
    max_steps: int,
    task: str = "",
    listeners: Sequence[Listener] = (),
) -> Evaluation:
    """Run up to ``episodes`` fresh episodes of at most ``max_steps`` control steps and count the successes.

    The same ``seed`` gives the same starts and the same draws of the policy (where the world can repeat a start).
    Anything an episode raises ends the evaluation and is passed on.
    """
    if episodes < 1:
        raise ConfigError(f"episodes must be at least 1, got {episodes}")
    ends: list[EpisodeEnd] = []
    for number, start in enumerate(evaluation_seeds(seed, episodes)):
        if operator.wants_to_stop():
            break
        operator.begin(number)
        if operator.wants_to_stop():  # said while the scene was prepared
            break
        ends.append(run_episode(env, policy, operator, max_steps=max_steps, task=task, seed=start, listeners=listeners))
    return summarise(ends, planned=episodes)


def evaluation_seeds(seed: int, episodes: int) -> list[int]:
    """Start seeds of an evaluation; the first n are the same whatever number is asked for."""
    if seed < 0:
        raise ConfigError(f"seed must not be negative, got {seed}")
    return [int(word) for word in np.random.SeedSequence([_STREAM, seed]).generate_state(episodes)]


def summarise(ends: Sequence[EpisodeEnd], planned: int) -> Evaluation:
    """Count what was run; ``planned`` is how many episodes were asked for."""
    judged = [end for end in ends if end.outcome in (Outcome.SUCCESS, Outcome.FAILURE)]
    successes = sum(end.outcome is Outcome.SUCCESS for end in judged)
    return Evaluation(
        successes=successes,
        episodes=len(judged),
        undecided=len(ends) - len(judged),
        interval=wilson(successes, len(judged)),
        mean_steps=float(np.mean([end.steps for end in judged])) if judged else 0.0,
        steps=sum(end.steps for end in ends),
        stopped=len(ends) < planned,
    )
