"""True times through the whole way: cameras of their own rates, a rig, the loop, the recorder, the dataset."""

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from recordings import number_in
from timed_rig import Patient, Walker, timed_rig

from svm_robot.data import columns, load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.errors import ConfigError, StaleError
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.session import SPOILED_IN_A_ROW, record
from svm_robot.recording.timing import SlowLoop
from svm_robot.rollout import Outcome

BOTH = {"front": 30.0, "wrist": 30.0}


def take(root: Path, rig, episodes=1, steps=90, policy=None, heard=None, **options):
    """Record, and return the recorder; every summary goes to ``heard``."""
    recorder = Recorder(root, rig.spec, "walk", **options)
    recorder.open()
    try:
        record(
            rig,
            policy or Walker(),
            Patient(),
            recorder,
            episodes=episodes,
            seed=0,
            max_steps=steps,
            progress=None if heard is None else lambda summary, _: heard.append(summary),
        )
    finally:
        recorder.close()
    return recorder


def rows_of(root: Path):
    return pq.read_table(min(root.glob("data/*/*.parquet")))


def metadata_of(root: Path, episode: int = 0):
    return pq.read_table(sorted(root.glob("meta/episodes/*/*.parquet"))[episode]).to_pylist()[0]


def test_a_slow_camera_does_not_slow_the_loop_and_its_repeats_are_flagged(tmp_path):
    rig, _, _ = timed_rig({"front": 30.0, "wrist": 10.0})
    summary = take(tmp_path / "d", rig).summary
    timing, rows = summary.timing, rows_of(tmp_path / "d")
    assert (summary.frames, timing.rate_hz) == (90, pytest.approx(30.0, rel=1e-3))
    fresh = np.array(rows[columns.FRESH + "wrist"])
    times = np.array(rows[columns.FRAME_TIME + "wrist"])
    assert fresh[0]
    assert fresh[1:].sum() == 30
    assert np.array_equal(fresh[1:], np.diff(times) > 0)
    assert np.array(rows[columns.FRESH + "front"]).all()
    counters = [number_in(picture) for picture in load_dataset(tmp_path / "d").episodes[0].frames["wrist"]]
    assert np.array_equal(np.abs(np.diff(counters)) > 4, fresh[1:])
    wrist = timing.cameras["wrist"]
    assert (wrist.rate_hz, wrist.longest_repeat) == (pytest.approx(10.0, rel=2e-2), 2)
    assert timing.cameras["front"].rate_hz == pytest.approx(30.0, rel=1e-3)
    assert wrist.mean_age_s < 0.12
    assert timing.skew_s == pytest.approx(2 / 30, abs=0.005)
    assert summary.notes == ()


def test_the_standard_timestamps_stay_whole_frames(tmp_path):
    rig, _, _ = timed_rig({"front": 30.0})
    take(tmp_path / "d", rig, steps=7)
    rows = rows_of(tmp_path / "d")
    assert np.allclose(np.array(rows["timestamp"]), np.arange(7) / 30)
    assert np.array(rows[columns.STATE_TIME])[0] > 99, "the true times are those of the clock"


def test_the_metadata_of_an_episode_tells_its_times(tmp_path):
    rig, _, _ = timed_rig({"front": 30.0, "wrist": 10.0})
    take(tmp_path / "d", rig)
    told = metadata_of(tmp_path / "d")
    assert told["svm/rate_hz"] == pytest.approx(30.0, rel=1e-3)
    assert told["svm/camera_rate_hz/wrist"] == pytest.approx(10.0, rel=2e-2)
    assert told["svm/longest_repeat/wrist"] == 2
    assert told["svm/worst_gap_s"] == pytest.approx(1 / 30, rel=1e-2)
    assert 0 < told["svm/mean_frame_age_s"] < told["svm/max_frame_age_s"] < 0.12
    assert told["svm/notes"] == ""


def test_lerobot_reads_the_flags(tmp_path):
    from lerobot.datasets import LeRobotDataset

    rig, _, _ = timed_rig({"front": 30.0, "wrist": 10.0})
    take(tmp_path / "d", rig, steps=9)
    theirs = LeRobotDataset("local/d", root=tmp_path / "d", video_backend="pyav")
    fresh = [bool(theirs[row]["svm.fresh.wrist"]) for row in range(9)]
    assert fresh == [True, True, False, False, True, False, False, True, False]
    assert not any(bool(theirs[row]["svm.intervention"]) for row in range(9))


class Stalls:
    """From picture ``at`` on the camera shows what ``how`` makes of it."""

    def __init__(self, camera, at, how):
        self.camera, self.at, self.how = camera, at, how
        self.first: int | None = None
        camera.fault = self

    def __call__(self, number, time_s):
        self.first = number if self.first is None else self.first
        stuck = self.first + self.at
        return (number, time_s) if number < stuck else self.how(number, time_s, stuck, self.camera.fps)


def stands_still(number, time_s, stuck, fps):
    return stuck, stuck / fps


def one_second_gap(number, time_s, stuck, fps):
    return (stuck, stuck / fps) if number < stuck + fps else (number, time_s)


def same_pixels_new_time(number, time_s, stuck, fps):
    return stuck, time_s


def test_a_camera_that_stops_ends_and_flags_the_episode_and_the_next_one_works(tmp_path):
    rig, robot, clock = timed_rig(BOTH)
    stall = Stalls(robot.cameras["wrist"], 40, stands_still)
    summaries = []

    class Mends(Patient):
        def begin(self, episode):
            if self.begun:
                robot.cameras["wrist"].fault = lambda number, time_s: (number, time_s)
            super().begin(episode)

    recorder = Recorder(tmp_path / "d", rig.spec, "walk")
    recorder.open()
    sent_before = []
    tally = record(
        rig,
        Walker(),
        Mends(),
        recorder,
        episodes=1,
        seed=0,
        max_steps=90,
        progress=lambda summary, _: (summaries.append(summary), sent_before.append(len(robot.sent))),
    )
    recorder.close()
    broken, whole = load_dataset(tmp_path / "d", frames=False).episodes
    limit_rows = round(rig.max_frame_age_s * rig.spec.rate_hz) + 1
    assert 40 <= len(broken) <= 40 + limit_rows
    assert sent_before[0] == len(broken), "nothing moves on a picture that is too old"
    assert (broken.outcome, whole.outcome, len(whole)) == (Outcome.ABORTED, Outcome.SUCCESS, 90)
    label = LabelLog(tmp_path / "d").entries()[0]
    assert "camera 'wrist'" in label.reason
    assert "ms old" in label.reason
    assert (tally.episodes, tally.spoiled, str(tally)) == (
        1,
        1,
        "1 of 1 episodes (1 success); 1 more spoiled, labelled aborted",
    )
    assert stall.at == 40
    assert clock.time_s > 100


def test_a_camera_that_does_not_come_back_ends_the_session(tmp_path):
    rig, robot, _ = timed_rig(BOTH)
    Stalls(robot.cameras["front"], 10, stands_still)
    with pytest.raises(StaleError, match="camera 'front'"):
        take(tmp_path / "d", rig, episodes=3)
    (episode,) = load_dataset(tmp_path / "d", frames=False).episodes
    assert episode.outcome is Outcome.ABORTED


def test_a_camera_that_stops_again_and_again_ends_the_session(tmp_path):
    rig, robot, clock = timed_rig(BOTH)

    class Cold(Patient):
        def begin(self, episode):
            super().begin(episode)
            clock.time_s += 60
            Stalls(robot.cameras["front"], 10, stands_still)

    recorder = Recorder(tmp_path / "d", rig.spec, "walk")
    recorder.open()
    operator = Cold()
    with pytest.raises(StaleError, match="camera 'front'"):
        record(rig, Walker(), operator, recorder, episodes=2, seed=0, max_steps=90)
    recorder.close()
    assert operator.begun == list(range(SPOILED_IN_A_ROW))


def test_a_gap_that_is_allowed_is_flagged(tmp_path):
    rig, robot, _ = timed_rig(BOTH, max_frame_age_s=2.0)
    Stalls(robot.cameras["wrist"], 20, one_second_gap)
    summary = take(tmp_path / "d", rig).summary
    assert summary.outcome is Outcome.SUCCESS
    (note,) = summary.notes
    assert note == "camera wrist stood still for 29 rows (its own rate explains 1)"
    assert metadata_of(tmp_path / "d")["svm/notes"] == note
    assert not np.array(rows_of(tmp_path / "d")[columns.FRESH + "wrist"])[22:50].any()


def test_equal_pixels_with_new_times_are_noted_while_the_arm_moves(tmp_path):
    rig, robot, _ = timed_rig(BOTH)
    Stalls(robot.cameras["wrist"], 40, same_pixels_new_time)
    summary = take(tmp_path / "d", rig).summary
    (note,) = summary.notes
    assert "camera wrist: 50 pictures in a row are bit-identical" in note
    assert summary.timing.cameras["front"].longest_identical == 0
    assert np.array(rows_of(tmp_path / "d")[columns.FRESH + "wrist"]).all(), "by capture time"


def test_a_scene_that_really_is_still_is_no_fault(tmp_path):
    class Rests(Walker):
        def act(self, observation):
            return observation.state[None]

    rig, robot, _ = timed_rig(BOTH)
    Stalls(robot.cameras["wrist"], 0, same_pixels_new_time)
    summary = take(tmp_path / "d", rig, policy=Rests()).summary
    assert summary.timing.cameras["wrist"].longest_identical == 89
    assert summary.notes == ()


class Thinks(Walker):
    """Takes its time at every step."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, list(seconds)

    def act(self, observation):
        self.clock.time_s += self.seconds.pop(0) if self.seconds else 0.0
        return super().act(observation)


def test_a_slow_loop_is_told_and_kept(tmp_path):
    rig, _, clock = timed_rig(BOTH)
    summary = take(tmp_path / "d", rig, policy=Thinks(clock, [0.05] * 90)).summary
    assert summary.outcome is Outcome.SUCCESS
    assert any("slow loop: 19." in note and "instead of 30 Hz" in note for note in summary.notes)
    assert not summary.rejected


def test_one_long_gap_is_told_although_the_rate_is_kept(tmp_path):
    rig, _, clock = timed_rig(BOTH, max_frame_age_s=1.0)
    notes = take(tmp_path / "d", rig, policy=Thinks(clock, [0.0] * 40 + [0.13])).summary.notes
    assert notes == ("slow loop: 132 ms between two steps, 100 ms allowed",)


def test_a_rejected_episode_trains_nothing_and_does_not_count(tmp_path):
    rig, _, clock = timed_rig(BOTH)
    heard = []
    take(
        tmp_path / "d",
        rig,
        episodes=2,
        policy=Thinks(clock, [0.05] * 90),
        heard=heard,
        slow_loop=SlowLoop(reject=True),
    )
    assert [summary.rejected for summary in heard] == [True, False, False]
    first, *others = load_dataset(tmp_path / "d", frames=False).episodes
    assert (first.outcome, first.terminated, len(first)) == (Outcome.ABORTED, False, 90)
    assert [episode.outcome for episode in others] == [Outcome.SUCCESS] * 2
    reason = LabelLog(tmp_path / "d").entries()[0].reason
    assert reason.startswith("slow loop: 19.")
    assert reason.endswith("the verdict was success")
    rows = rows_of(tmp_path / "d")
    assert (rows[columns.SUCCESS][89].as_py(), rows[columns.TRUNCATED][89].as_py()) == (False, True)


def test_a_loop_that_is_always_too_slow_is_given_up(tmp_path):
    rig, _, clock = timed_rig(BOTH)
    with pytest.raises(ConfigError, match=r"3 episodes in a row were rejected \(slow loop: .*--slow_loop=warn"):
        take(tmp_path / "d", rig, steps=9, policy=Thinks(clock, [0.05] * 999), slow_loop=SlowLoop(reject=True))
    assert len(load_dataset(tmp_path / "d", frames=False).episodes) == SPOILED_IN_A_ROW


def test_the_thresholds_are_those_that_were_given(tmp_path):
    rig, _, clock = timed_rig(BOTH)
    lenient = SlowLoop(reject=True, min_rate=0.5, max_gap=4.0)
    assert not take(tmp_path / "d", rig, policy=Thinks(clock, [0.05] * 90), slow_loop=lenient).summary.rejected
    strict = SlowLoop(reject=True, min_rate=0.0, max_gap=1.2)
    with pytest.raises(ConfigError):
        take(tmp_path / "e", rig, steps=9, policy=Thinks(clock, [0.05] * 999), slow_loop=strict)


def test_no_duration_comes_from_the_wall_clock():
    """It may be set back at any moment. Only what is dated for people (labels, provenance) asks it."""
    house = Path(__file__).parents[2]
    rooms = [house / "svm_robot" / room for room in ("data", "rollout", "reward", "learner", "report", "vision")]
    files = [file for room in (*rooms, house / "drivers", house / "policies") for file in room.rglob("*.py")]
    asking = {file.name for file in files if re.search(r"\btime\.time\b|datetime\.now", file.read_text())}
    assert len(files) > 50
    assert asking <= {"labels.py", "recorder.py"}
