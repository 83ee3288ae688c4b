"""Record a number of episodes, one after the other: each one saved and labelled before the next begins."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from svm_robot.data.recorder import EpisodeSummary, Recorder
from svm_robot.errors import ConfigError
from svm_robot.rollout.env import Env
from svm_robot.rollout.episode import Outcome
from svm_robot.rollout.listener import Listener
from svm_robot.rollout.loop import run_episode
from svm_robot.rollout.operator import Operator
from svm_robot.rollout.policy import Policy

_STREAM = 0x4EC0
"""Keeps recording starts apart from evaluation and training starts made from the same user seed."""

Progress = Callable[[EpisodeSummary, "Tally"], None]


@dataclass(frozen=True)
class Tally:
    """What a session has recorded so far."""

    wanted: int
    outcomes: Counter[Outcome]
    steps: int
    saving_s: float
    """Seconds spent saving, all episodes together."""
    stopped: bool = False
    """True when the operator stopped before all episodes were recorded."""

    @property
    def episodes(self) -> int:
        """Episodes saved in this session."""
        return self.outcomes.total()

    def __str__(self) -> str:
        counts = ", ".join(f"{self.outcomes[outcome]} {outcome}" for outcome in Outcome if self.outcomes[outcome])
        return f"{self.episodes} of {self.wanted} episodes ({counts or 'none saved'})"


def episode_seed(seed: int, index: int) -> int:
    """Seed of the episode that becomes number ``index`` of a dataset: the same session twice records the same."""
    return int(np.random.SeedSequence([_STREAM, seed, index]).generate_state(1)[0])


def record(
    env: Env,
    policy: Policy,
    operator: Operator,
    recorder: Recorder,
    *,
    episodes: int,
    seed: int,
    max_steps: int,
    listeners: Sequence[Listener] = (),
    progress: Progress | None = None,
) -> Tally:
    """Record ``episodes`` more episodes with an open ``recorder``; ``progress`` is told after each one.

    Whatever an episode raises ends the session and is passed on, after that episode was saved as aborted.
    """
    if episodes < 1:
        raise ConfigError(f"episodes is {episodes}; record at least 1")
    tally = Tally(episodes, Counter(), 0, 0.0)
    for _ in range(episodes):
        index = recorder.episodes
        operator.begin(index)
        if operator.wants_to_stop():
            return Tally(episodes, tally.outcomes, tally.steps, tally.saving_s, stopped=True)
        run_episode(
            env,
            policy,
            operator,
            max_steps=max_steps,
            task=recorder.task,
            seed=episode_seed(seed, index),
            listeners=[recorder, *listeners],
        )
        tally = add(tally, recorder.summary)
        if progress is not None and recorder.summary is not None:
            progress(recorder.summary, tally)
    return tally


def add(tally: Tally, summary: EpisodeSummary | None) -> Tally:
    """The tally after one more episode."""
    if summary is None or summary.episode is None:
        return tally
    outcomes = tally.outcomes + Counter([summary.outcome])
    return Tally(tally.wanted, outcomes, tally.steps + summary.frames, tally.saving_s + summary.saving_s)
