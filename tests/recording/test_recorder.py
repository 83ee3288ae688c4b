"""What the recorder writes, as LeRobot's own reader sees it, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import LOSSLESS, record_toy
from toys import ToyEnv, ToyObservation, ToyOperator, ToyPolicy, ToySpec

from svm_robot.data import columns, load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.errors import DataError
from svm_robot.recording.recorder import Recorder
from svm_robot.rollout import EpisodeEnd, EpisodeStart, Outcome, Step, run_episode


class Witness:
    """Keeps what a listener hears."""

    needs_every_frame = True

    def __init__(self):
        self.steps, self.end = [], None

    def on_start(self, start):
        self.start = start

    def on_step(self, step):
        self.steps.append(step)

    def on_end(self, end):
        self.end = end


@pytest.fixture
def opened(tmp_path):
    recorder = Recorder(tmp_path / "d", ToySpec(), "reach", latent_dim=2, by="judge")
    recorder.open()
    yield recorder
    recorder.close()


def step_of(index=0, **changes):
    frames = {role: np.zeros((32, 32, 3), np.uint8) for role in ("front", "wrist")}
    seen = ToyObservation(np.zeros(2, np.float32), index / 10, frames, dict.fromkeys(frames, index / 10))
    values = {"observation": seen, "requested": np.zeros(2, np.float32), "sent": np.zeros(2, np.float32), **changes}
    defaults = {"clipped": False, "source": "policy", "decision": True, "latent": np.zeros(2, np.float32)}
    return Step(index=index, chunk=np.zeros((1, 2), np.float32), **{**defaults, **values})


def start_of(**changes):
    return EpisodeStart(**{"spec": ToySpec(), "task": "reach", "seed": 7, "source": "policy", **changes})


def end_of(outcome=Outcome.FAILURE, steps=1):
    success = outcome is Outcome.SUCCESS
    return EpisodeEnd(outcome, success, not success, "test", steps, 0.1, None)


def test_lerobot_reads_what_we_wrote(tmp_path):
    from lerobot.datasets import LeRobotDataset

    env, witness = ToyEnv(), Witness()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    for wrong in (True, False):
        listeners = [recorder, witness]
        run_episode(env, ToyPolicy(wrong=wrong), ToyOperator(env), max_steps=12, seed=3, listeners=listeners)
    recorder.close()
    theirs = LeRobotDataset("local/d", root=tmp_path / "d", video_backend="pyav")
    assert (theirs.num_episodes, theirs.num_frames, theirs.fps) == (2, len(witness.steps), 10)
    for number, step in enumerate(witness.steps):
        item = theirs[number]
        assert np.array_equal(item["observation.state"], step.observation.state)
        assert np.array_equal(item["action"], step.sent)
        assert np.array_equal(item["svm.latent"], step.latent)
        picture = np.moveaxis(item["observation.images.wrist"].numpy(), 0, -1) * 255
        assert np.abs(picture - step.observation.frames["wrist"]).max() <= LOSSLESS + 0.01
    last = theirs[len(witness.steps) - 1]
    assert (float(last[columns.REWARD]), bool(last[columns.SUCCESS]), bool(last[columns.DONE])) == (1.0, True, True)
    assert not bool(theirs[11][columns.SUCCESS])
    assert bool(theirs[11][columns.DONE])
    assert not bool(theirs[10][columns.DONE])
    assert theirs.meta.episodes[0]["svm/recorded_outcome"] == "failure"
    assert theirs.meta.episodes[0]["svm/seed"] == 3


def test_what_was_asked_and_what_was_sent_are_both_kept(tmp_path):
    class Wild(ToyPolicy):
        def act(self, observation):
            return super().act(observation) + 1000

    env = ToyEnv()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    run_episode(env, Wild(), ToyOperator(env), max_steps=3, seed=0, listeners=[recorder])
    recorder.close()
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "d/data/chunk-000/file-000.parquet")
    assert np.array(table[columns.REQUESTED].to_pylist()).min() > 900
    assert np.array(table[columns.ACTION].to_pylist()).max() == 100
    assert set(table[columns.CLIPPED].to_pylist()) == {True}


def test_outcome_goes_to_the_label_log_with_its_author(tmp_path):
    recorder = record_toy(tmp_path / "d", "sf")
    labels = LabelLog(tmp_path / "d").entries()
    assert [label.outcome for label in labels] == ["success", "failure"]
    assert {label.by for label in labels} == {"judge"}
    assert labels[1].episode_uid == recorder.summary.uid


def test_an_episode_that_broke_is_saved_as_aborted(tmp_path):
    class Breaks(ToyEnv):
        def apply(self, action):
            if self.time_s > 0.45:
                raise KeyboardInterrupt
            return super().apply(action)

    env = Breaks()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    with pytest.raises(KeyboardInterrupt):
        run_episode(env, ToyPolicy(wrong=True), ToyOperator(env), max_steps=50, seed=0, listeners=[recorder])
    recorder.close()
    (episode,) = load_dataset(tmp_path / "d").episodes
    assert (len(episode), episode.outcome, episode.terminated) == (5, Outcome.ABORTED, False)
    assert recorder.summary.outcome is Outcome.ABORTED


def test_numbers_that_are_not_finite_are_refused_with_their_place(opened):
    opened.on_start(start_of())
    opened.on_step(step_of(0))
    with pytest.raises(DataError, match=r"step 1: action\[1\] is nan"):
        opened.on_step(step_of(1, sent=np.array([0, np.nan], np.float32)))
    broken = replace(step_of(1).observation, state=np.array([np.inf, 0], np.float32))
    with pytest.raises(DataError, match=r"step 1: state\[0\] is inf"):
        opened.on_step(step_of(1, observation=broken))
    opened.on_end(end_of(Outcome.ABORTED))
    assert opened.summary.frames == 1


def test_a_missing_or_wrong_picture_is_refused_by_camera(opened):
    opened.on_start(start_of())
    seen = step_of().observation
    small = replace(seen, frames={**seen.frames, "wrist": np.zeros((16, 32, 3), np.uint8)})
    with pytest.raises(DataError, match=r"camera wrist gave uint8 \(16, 32, 3\), expected uint8 \(32, 32, 3\)"):
        opened.on_step(step_of(observation=small))
    with pytest.raises(DataError, match="camera front gave no picture"):
        opened.on_step(step_of(observation=replace(seen, frames={"wrist": seen.frames["wrist"]})))
    opened.on_end(end_of(Outcome.ABORTED))
    assert opened.summary.episode is None


def test_a_latent_without_its_column_is_refused(tmp_path):
    recorder = Recorder(tmp_path / "d", ToySpec(), "reach")
    recorder.open()
    recorder.on_start(start_of())
    with pytest.raises(DataError, match="latent_dim"):
        recorder.on_step(step_of())
    recorder.close()


def test_an_episode_without_steps_leaves_nothing(opened, tmp_path):
    opened.on_start(start_of())
    opened.on_end(end_of(Outcome.ABORTED, 0))
    assert (opened.summary.episode, opened.summary.frames, opened.episodes) == (None, 0, 0)
    assert LabelLog(tmp_path / "d").entries() == []


def test_a_camera_may_reuse_its_buffer(tmp_path):
    class Reuses(ToyEnv):
        buffer = np.zeros((32, 32, 3), np.uint8)

        def picture(self, height, width):
            self.buffer[:] = round(self.time_s * 10) * 10
            return self.buffer

    env = Reuses()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    run_episode(env, ToyPolicy(wrong=True), ToyOperator(env), max_steps=8, seed=0, listeners=[recorder])
    recorder.close()
    frames = load_dataset(tmp_path / "d").episodes[0].frames["front"]
    assert frames[:, 5, 5, 0].tolist() == pytest.approx(list(range(0, 80, 10)), abs=LOSSLESS)


def test_summary_states_rate_gap_and_age(opened):
    opened.on_start(start_of())
    for index, time_s in enumerate((0.0, 0.1, 0.4)):
        seen = replace(
            step_of().observation, state_time_s=time_s, frame_times_s={"front": time_s - 0.05, "wrist": time_s}
        )
        opened.on_step(step_of(index, observation=seen))
    opened.on_end(end_of(steps=3))
    timing = opened.summary.timing
    assert (timing.steps, timing.rate_hz, timing.worst_gap_s) == (3, pytest.approx(5.0), pytest.approx(0.3))
    assert (timing.max_frame_age_s, timing.mean_frame_age_s) == (pytest.approx(0.05), pytest.approx(0.025))
    assert opened.summary.saving_s > 0


def test_a_step_before_the_start_is_refused(opened):
    with pytest.raises(DataError, match="before the start"):
        opened.on_step(step_of())


def test_who_acted_is_kept_and_an_unknown_actor_is_not(opened):
    opened.on_start(start_of(source="human"))
    opened.on_step(step_of(source="human"))
    with pytest.raises(DataError, match="ghost"):
        opened.on_step(step_of(1, source="ghost"))
    opened.on_end(end_of())
