"""Record a number of episodes, one after the other: each one saved and labelled before the next begins."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from svm_robot.errors import ConfigError, DataError, StaleError
from svm_robot.recording.recorder import EpisodeSummary, Recorder
from svm_robot.rollout.env import Env
from svm_robot.rollout.episode import Outcome
from svm_robot.rollout.listener import Listener
from svm_robot.rollout.loop import run_episode
from svm_robot.rollout.operator import Operator
from svm_robot.rollout.policy import Policy

_STREAM = 0x4EC0
"""Keeps recording starts apart from evaluation and training starts made from the same user seed."""

SPOILED_IN_A_ROW = 3
"""So many spoiled episodes one after the other end a session: what spoils them does not go away by itself."""

Progress = Callable[[EpisodeSummary, "Tally"], None]


@dataclass(frozen=True)
class Tally:
    """What a session has recorded so far."""

    wanted: int
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    steps: int = 0
    saving_s: float = 0.0
    """Seconds spent saving, all episodes together."""
    spoiled: int = 0
    """Episodes saved beside those that count: rejected as too slow, or broken off by a camera that stopped."""
    spoiled_in_a_row: int = 0
    stopped: bool = False
    """True when the operator stopped before all episodes were recorded."""

    @property
    def episodes(self) -> int:
        """Episodes saved in this session that count."""
        return self.outcomes.total()

    def __str__(self) -> str:
        counts = ", ".join(f"{self.outcomes[outcome]} {outcome}" for outcome in Outcome if self.outcomes[outcome])
        spoiled = f"; {self.spoiled} more spoiled, labelled aborted" if self.spoiled else ""
        return f"{self.episodes} of {self.wanted} episodes ({counts or 'none saved'}){spoiled}"


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

    An episode that was rejected as too slow, or that a stopped camera broke off, is saved but does not count; another
    one is made, until ``SPOILED_IN_A_ROW`` of them follow each other. Whatever else an episode raises ends the session
    and is passed on, after that episode was saved as aborted.
    """
    if episodes < 1:
        raise ConfigError(f"episodes is {episodes}; record at least 1")
    tally = Tally(episodes)
    while tally.episodes < episodes:
        index = recorder.episodes
        recorder.check_room()
        operator.begin(index)
        if operator.wants_to_stop():
            return replace(tally, stopped=True)
        stale: StaleError | None = None
        try:
            run_episode(
                env,
                policy,
                operator,
                max_steps=max_steps,
                task=recorder.task,
                seed=episode_seed(seed, index),
                listeners=[recorder, *listeners],
            )
        except StaleError as error:
            if recorder.episodes == index:  # not one step: the camera has not come back
                raise
            stale = error
        if recorder.summary is None or recorder.episodes == index:
            raise DataError("an episode without a single step cannot be saved")
        tally = add(tally, recorder.summary, spoiled=stale is not None or recorder.summary.rejected)
        if progress is not None:
            progress(recorder.summary, tally)
        check_spoiled(tally, recorder.summary, stale)
    return tally


def add(tally: Tally, summary: EpisodeSummary, spoiled: bool) -> Tally:
    """The tally after one more saved episode."""
    added = replace(tally, steps=tally.steps + summary.frames, saving_s=tally.saving_s + summary.saving_s)
    if spoiled:
        return replace(added, spoiled=tally.spoiled + 1, spoiled_in_a_row=tally.spoiled_in_a_row + 1)
    return replace(added, outcomes=tally.outcomes + Counter([summary.outcome]), spoiled_in_a_row=0)


def check_spoiled(tally: Tally, summary: EpisodeSummary, stale: StaleError | None) -> None:
    """Raise when too many episodes in a row were spoiled."""
    if tally.spoiled_in_a_row < SPOILED_IN_A_ROW:
        return
    if stale is not None:
        raise stale
    raise ConfigError(
        f"{SPOILED_IN_A_ROW} episodes in a row were rejected ({'; '.join(summary.notes)}); "
        "choose a lower --rate_hz, smaller pictures, or --slow_loop=warn"
    )
