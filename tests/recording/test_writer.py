"""Kills, faults and second writers: at most the episode in progress is lost, and nothing needs a hand."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from recordings import record_toy
from toys import ToySpec

from svm_robot.data import columns, load_dataset
from svm_robot.data.episode_stats import from_json
from svm_robot.data.files import publish
from svm_robot.data.labels import FILE
from svm_robot.data.layout import INFO, STATS, TASKS, read_info
from svm_robot.data.schema import BOOKKEEPING, features
from svm_robot.data.tables import read_tasks
from svm_robot.errors import DataError, DiskError
from svm_robot.recording import commit, encoder, worker, writer
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.writer import EpisodeWriter

CHILD = """
import sys
from pathlib import Path
from recordings import record_toy
record_toy(Path(sys.argv[1]), "sf" * 1000, max_steps=30)
"""


class Killed(BaseException):
    """Stands for a kill: nothing that only catches Exception may hide it."""


def row(number=0):
    plain = {key: f for key, f in features(ToySpec()).items() if f["dtype"] != "video" and key not in BOOKKEEPING}
    values = {key: np.full(f["shape"], number, f["dtype"]) for key, f in plain.items() if len(f["shape"]) == 1}
    return values | {columns.DECISION: True, columns.EPISODE_UID: 5, columns.SOURCE: 0}


def frames(number=0):
    return {role: np.full((32, 32, 3), number, np.uint8) for role in ("front", "wrist")}


def save_one(writer_, length=3):
    writer_.begin()
    for number in range(length):
        writer_.add(row(number), frames(number))
    return writer_.save("reach", {})


def test_sigkill_in_mid_episode_loses_only_that_episode(tmp_path):
    root = tmp_path / "d"
    tests = str(Path(__file__).parents[1])
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(root)], env=env_with(tests), stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while labels(root) < 3 or not list(root.glob(".recording/*/video.mp4")):
            assert time.monotonic() < deadline
            assert child.poll() is None, child.stderr.read().decode()
            time.sleep(0.002)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stderr.close()
    acknowledged = labels(root)
    counted = read_info(root)["total_episodes"]
    assert counted in (acknowledged, acknowledged + 1)
    assert len(load_dataset(root).episodes) == counted
    recorder = record_toy(root, "s")
    assert recorder.summary.episode == counted
    assert [episode.index for episode in load_dataset(root).episodes] == list(range(counted + 1))
    assert not (root / ".recording").exists()


def env_with(folder):
    return {**os.environ, "PYTHONPATH": folder}


def labels(root):
    path = root / FILE
    return path.read_text().count("\n") if path.exists() else 0


@pytest.fixture(scope="module")
def two_episodes(tmp_path_factory):
    root = tmp_path_factory.mktemp("two") / "d"
    record_toy(root, "sf")
    return root


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(6))
def test_a_kill_between_the_files_of_a_commit_is_healed_by_the_next_open(
    two_episodes, tmp_path, monkeypatch, number, after
):
    root = shutil.copytree(two_episodes, tmp_path / "d")
    calls = []

    def stops(staged, path, **how):
        calls.append(path)
        if len(calls) == number + 1:
            if after:
                publish(staged, path, **how)
            raise Killed
        publish(staged, path, **how)

    victim = EpisodeWriter(root, ToySpec())
    monkeypatch.setattr(writer, "check_same", lambda *_: None)
    victim.open()
    monkeypatch.setattr(commit, "publish", stops)
    monkeypatch.setattr(commit, "publish_json", lambda value, path, **how: stops(fake(value, path), path))
    with pytest.raises(Killed):
        save_one_latent(victim)
    victim.close()
    monkeypatch.undo()
    counted = 3 if number == 5 and after else 2
    assert len(load_dataset(root).episodes) == counted
    recorder = record_toy(root, "s")
    assert recorder.summary.episode == counted
    dataset = load_dataset(root)
    assert len(dataset.episodes) == counted + 1
    info, stats = read_info(root), from_json(json.loads((root / STATS).read_text()))
    assert int(stats["action"]["count"][0]) == info["total_frames"] == sum(map(len, dataset.episodes))


def fake(value, path):
    staged = path.with_name(".staged")
    staged.write_text(json.dumps(value))
    return staged


def save_one_latent(victim):
    victim.begin()
    for number in range(3):
        victim.add({**row(number), columns.LATENT: np.zeros(2, np.float32)}, frames(number))
    extras = {"svm/episode_uid": 5, "svm/seed": 1, "svm/source": "x", "svm/recorded_outcome": "failure"}
    return victim.save("reach", extras)


def test_files_nobody_counts_are_set_aside_not_deleted(two_episodes, tmp_path):
    root = shutil.copytree(two_episodes, tmp_path / "d")
    stray = root / "data/chunk-000/file-007.parquet"
    stray.write_bytes(b"torn")
    recorder = record_toy(root, "s")
    assert recorder.summary.episode == 2
    assert not stray.exists()
    assert (root / "set_aside/data/chunk-000/file-007.parquet").read_bytes() == b"torn"
    assert recorder.writer.set_aside == [root / "set_aside/data/chunk-000/file-007.parquet"], "the person is told"


def test_a_second_recorder_is_refused_while_one_is_open(tmp_path):
    with EpisodeWriter(tmp_path / "d", ToySpec()), pytest.raises(DataError, match="another program is recording"):
        EpisodeWriter(tmp_path / "d", ToySpec()).open()
    with EpisodeWriter(tmp_path / "d", ToySpec()) as later:
        assert later.episodes == 0


def test_another_shape_is_refused_and_nothing_changes(two_episodes, tmp_path):
    root = shutil.copytree(two_episodes, tmp_path / "d")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    with pytest.raises(DataError, match="camera wrist: only in the dataset"):
        Recorder(root, ToySpec(cameras={"front": (32, 32)}), "reach", latent_dim=2).open()
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="is not a LeRobot dataset"):
        EpisodeWriter(tmp_path, ToySpec()).open()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_creation_that_was_cut_off_is_taken_up(tmp_path):
    (tmp_path / "d" / "meta").mkdir(parents=True)
    (tmp_path / "d" / ".recording.lock").touch()
    with EpisodeWriter(tmp_path / "d", ToySpec()) as fresh:
        assert save_one(fresh) == 0


def test_a_full_disk_fails_the_episode_loudly_and_spares_the_others(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    root = tmp_path / "d"
    with EpisodeWriter(root, ToySpec()) as used:
        save_one(used)
        with monkeypatch.context() as patch:
            patch.setattr(commit.pq, "write_table", full)
            with pytest.raises(DiskError, match=r"episode 1 could not be saved.*the disk is full \(ENOSPC\)"):
                save_one(used)
        assert not (root / ".recording").exists()
        assert save_one(used) == 1
    assert len(load_dataset(root).episodes) == 2


def test_an_encoder_that_fails_is_heard_while_the_episode_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(worker.PictureStats, "add", lambda *_: 1 / 0)
    with EpisodeWriter(tmp_path / "d", ToySpec()) as used:
        used.begin()
        with pytest.raises(DataError, match=r"pictures of (front|wrist) could not be saved: division by zero"):
            for number in range(500):
                used.add(row(number), frames(number))


def test_a_file_with_fewer_frames_than_rows_is_never_announced(tmp_path, monkeypatch):
    keeps = encoder.VideoEncoder.put

    def drops(self, frame):
        if frame[0, 0, 0] % 3 == 0:
            keeps(self, frame)

    monkeypatch.setattr(encoder.VideoEncoder, "put", drops)
    with (
        EpisodeWriter(tmp_path / "d", ToySpec()) as used,
        pytest.raises(DataError, match="front: the video holds 2 frames for 6 rows"),
    ):
        save_one(used, 6)
    assert read_info(tmp_path / "d")["total_episodes"] == 0


def test_an_episode_without_rows_cannot_be_saved(tmp_path):
    with EpisodeWriter(tmp_path / "d", ToySpec()) as used:
        used.begin()
        with pytest.raises(DataError, match="without a single step"):
            used.save("reach", {})


def test_tasks_are_numbered_as_they_come(tmp_path):
    with EpisodeWriter(tmp_path / "d", ToySpec()) as used:
        for task in ("a", "b", "a"):
            used.begin()
            used.add(row(), frames())
            used.save(task, {})
    assert [episode.task for episode in load_dataset(tmp_path / "d").episodes] == ["a", "b", "a"]
    assert read_info(tmp_path / "d")["total_tasks"] == 2


def test_numbers_of_tasks_that_another_tool_left_gaps_in_are_kept(tmp_path):
    root = tmp_path / "d"
    with EpisodeWriter(root, ToySpec()) as used:
        for task in ("a", "b"):
            used.begin()
            used.add(row(), frames())
            used.save(task, {})
    pd.DataFrame({"task_index": [0, 7]}, index=pd.Index(["a", "b"], name="task")).to_parquet(root / TASKS)
    with EpisodeWriter(root, ToySpec()) as used:
        for task in ("b", "c"):
            used.begin()
            used.add(row(), frames())
            used.save(task, {})
    numbers = [pq.read_table(root / f"data/chunk-000/file-00{n}.parquet")["task_index"][0].as_py() for n in (2, 3)]
    assert numbers == [7, 8]
    assert read_tasks(root) == {0: "a", 7: "b", 8: "c"}


def test_a_thousand_files_start_a_new_chunk(tmp_path):
    with EpisodeWriter(tmp_path / "d", ToySpec()) as used:
        used.info["chunks_size"] = 2
        for _ in range(3):
            save_one(used, 1)
    assert (tmp_path / "d/data/chunk-001/file-000.parquet").is_file()
    assert len(load_dataset(tmp_path / "d").episodes) == 3


def test_close_twice_and_a_rate_that_lerobot_cannot_hold(tmp_path):
    used = EpisodeWriter(tmp_path / "d", ToySpec())
    used.open()
    used.close()
    used.close()
    with pytest.raises(DataError, match=r"whole number of Hz, got a control rate of 7\.5 Hz"):
        EpisodeWriter(tmp_path / "e", ToySpec(rate_hz=7.5)).open()
    assert not (tmp_path / "e").exists()
    assert (tmp_path / "d" / INFO).is_file()
