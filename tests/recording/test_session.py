"""A session of several episodes: seeds, stopping, the tally."""

import numpy as np
import pytest
from recordings import record_toy
from toys import ToyEnv, ToyOperator, ToyPolicy, ToySpec

from svm_robot.data import load_dataset
from svm_robot.errors import ConfigError, DataError
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.session import episode_seed, record
from svm_robot.rollout import Outcome


class Stops(ToyOperator):
    """Wants to stop once ``after`` episodes have begun."""

    def __init__(self, env, after):
        super().__init__(env)
        self.after, self.begun = after, []

    def begin(self, episode):
        self.begun.append(episode)

    def wants_to_stop(self):
        return len(self.begun) > self.after


def session(root, episodes, operator=None, seed=0, env=None, **more):
    env = env or ToyEnv()
    recorder = Recorder(root, ToySpec(), "reach", latent_dim=2)
    recorder.open()
    try:
        operator = operator or ToyOperator(env)
        return record(env, ToyPolicy(), operator, recorder, episodes=episodes, seed=seed, max_steps=12, **more)
    finally:
        recorder.close()


def test_the_same_seed_records_the_same_episodes(tmp_path):
    for name in ("a", "b"):
        session(tmp_path / name, 3)
    session(tmp_path / "c", 2)
    session(tmp_path / "c", 1)
    session(tmp_path / "d", 3, seed=1)
    a, b, c, d = (load_dataset(tmp_path / name, frames=False).fingerprint for name in "abcd")
    states = [np.concatenate([e.state for e in load_dataset(tmp_path / name, frames=False).episodes]) for name in "abc"]
    assert np.array_equal(states[0], states[1])
    assert np.array_equal(states[0], states[2])
    assert len({a, b, c, d}) == 4  # uids are random: a copy is told from a repetition


def test_episode_seeds_differ_and_are_not_those_of_an_evaluation():
    seeds = {episode_seed(seed, index) for seed in range(20) for index in range(50)}
    assert len(seeds) == 1000
    plain = np.random.SeedSequence([0, 0]).generate_state(1)[0]
    assert plain not in seeds


def test_progress_hears_every_episode_and_the_tally_adds_up(tmp_path):
    heard = []
    tally = session(
        tmp_path / "d", 3, progress=lambda episode, so_far: heard.append((episode.episode, so_far.episodes))
    )
    assert heard == [(0, 1), (1, 2), (2, 3)]
    assert (tally.outcomes[Outcome.SUCCESS], tally.stopped) == (3, False)
    assert tally.steps == sum(len(episode) for episode in load_dataset(tmp_path / "d", frames=False).episodes)
    assert str(tally) == "3 of 3 episodes (3 success)"
    assert tally.saving_s > 0


def test_the_operator_can_stop_between_episodes(tmp_path):
    env = ToyEnv()
    operator = Stops(env, 2)
    tally = session(tmp_path / "d", 9, operator, env=env)
    assert (tally.episodes, tally.stopped, operator.begun) == (2, True, [0, 1, 2])


def test_a_continued_dataset_continues_its_numbers(tmp_path):
    record_toy(tmp_path / "d", "sf")
    env = ToyEnv()
    operator = Stops(env, 9)
    session(tmp_path / "d", 1, operator, env=env)
    assert operator.begun == [2]


def test_a_failing_episode_ends_the_session_after_it_was_saved(tmp_path):
    class Blind(ToyEnv):
        def observe(self, frames=True):
            seen = super().observe(frames)
            if self.time_s > 0.25:
                seen.frames.pop("wrist")
            return seen

    with pytest.raises(DataError, match="camera wrist gave no picture"):
        session(tmp_path / "d", 3, env=Blind())
    (episode,) = load_dataset(tmp_path / "d").episodes
    assert (episode.outcome, len(episode)) == (Outcome.ABORTED, 3)


def test_zero_episodes_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="record at least 1"):
        session(tmp_path / "d", 0)
