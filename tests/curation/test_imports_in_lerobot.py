"""Imports and exports beside LeRobot itself: what its writer wrote is read, and its reader reads what we wrote."""

import shutil

import numpy as np
import pytest
from foreign import CAMERA, LENGTHS, RATE_HZ, picture, transitions, write_pickle, write_v2, write_v3, write_video
from importing import imported, refusal
from lerobot.datasets import LeRobotDataset
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.labels import LabelLog
from svm_robot.rollout.episode import Outcome
from svm_robot.scripts.main import main


@pytest.fixture(scope="module")
def v2(tmp_path_factory):
    return write_v2(tmp_path_factory.mktemp("v2") / "d")


@pytest.fixture(scope="module")
def v3(tmp_path_factory):
    return write_v3(tmp_path_factory.mktemp("v3") / "d")


@pytest.fixture
def copy3(v3, tmp_path):
    return shutil.copytree(v3, tmp_path / "copy3")


@pytest.fixture(scope="module")
def ours(v2, tmp_path_factory):
    """The v2 recording, imported."""
    target = tmp_path_factory.mktemp("ours") / "d"
    imported(v2, target)
    return target


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Success, failure, and a success that a person calls a failure afterwards."""
    root = tmp_path_factory.mktemp("toy") / "demos"
    record_toy(root, "sfs")
    LabelLog(root).set(read_view(root).episodes[2].uid, Outcome.FAILURE, "me", "it fell")
    return root


def test_all_versions_of_the_same_episodes_load_to_the_same(v2, v3, ours, tmp_path):
    imported(v3, tmp_path / "from3")
    imported(write_v2(tmp_path / "v20", version="v2.0"), tmp_path / "from20")
    reference = load_dataset(ours)
    assert [len(episode) for episode in reference.episodes] == list(LENGTHS)
    for name in ("from3", "from20"):
        other = load_dataset(tmp_path / name)
        assert (other.fingerprint, other.label_hash) == (reference.fingerprint, reference.label_hash)
        for mine, theirs in zip(reference.episodes, other.episodes, strict=True):
            np.testing.assert_array_equal(mine.state, theirs.state)
            np.testing.assert_array_equal(mine.action, theirs.action)
            np.testing.assert_array_equal(mine.frames["top"], theirs.frames["top"])
            assert (mine.uid, mine.task, mine.outcome) == (theirs.uid, theirs.task, theirs.outcome)


def test_lerobot_reads_the_same_numbers_and_frames(ours):
    theirs = LeRobotDataset("local/x", root=ours, video_backend="pyav")
    position = 0
    for episode in load_dataset(ours).episodes:
        for row in range(len(episode)):
            item = theirs[position]
            np.testing.assert_array_equal(item["observation.state"].numpy(), episode.state[row])
            np.testing.assert_array_equal(item["action"].numpy(), episode.action[row])
            shown = (item[CAMERA].numpy().transpose(1, 2, 0) * 255).round().astype(np.uint8)
            np.testing.assert_array_equal(shown, episode.frames["top"][row])
            assert float(item["timestamp"]) == pytest.approx(row / RATE_HZ)
            position += 1
    assert len(theirs) == position
    assert {"observation.state", CAMERA} <= set(theirs.meta.stats)  # v2.0 and damaged metadata have none


def test_without_meta_episodes_repair_is_named(copy3):
    shutil.rmtree(copy3 / "meta/episodes")
    assert "data repair" in refusal(copy3)


def test_damaged_version_3(copy3):
    data = next((copy3 / "data").rglob("*.parquet"))
    content = data.read_bytes()
    data.write_bytes(content[:-40])
    assert "unfinished or damaged" in refusal(copy3)
    data.write_bytes(content)
    video = next((copy3 / "videos").rglob("*.mp4"))
    write_video(video, [picture(0, row) for row in range(8)])
    assert "camera top: the video does not hold one frame for each row (2 of 3 episodes: 1 to 2)" in refusal(copy3)
    video.unlink()
    assert "camera top: the video is missing (3 of 3 episodes: 0 to 2)" in refusal(copy3)


def test_lerobot_reads_imported_transitions(tmp_path):
    imported(write_pickle(tmp_path / "a.pkl", transitions("sf")), tmp_path / "d", rate_hz=10, task="push it")
    theirs = LeRobotDataset("local/x", root=tmp_path / "d", video_backend="pyav")
    assert len(theirs) == 8
    assert float(theirs[3]["next.reward"]) == 1
    shown = theirs[6]["observation.images.wrist_1"].numpy().transpose(1, 2, 0) * 255
    np.testing.assert_array_equal(shown.round(), load_dataset(tmp_path / "d").episodes[1].frames["wrist_1"][2])


def test_labels_where_lerobot_looks(toy, tmp_path):
    assert main(["data", "export", str(toy), "--to=lerobot", f"--out={tmp_path / 'new'}"]) == 0
    theirs = LeRobotDataset("local/x", root=tmp_path / "new", video_backend="pyav")
    last = [row["dataset_to_index"] - 1 for row in theirs.meta.episodes]
    ends = [theirs[position] for position in last]
    assert [bool(item["next.success"]) for item in ends] == [True, False, False]
    assert [float(item["next.reward"]) for item in ends] == [1, 0, 0]
    assert all(bool(item["next.done"]) for item in ends)
    good = LeRobotDataset(
        "local/x",
        root=tmp_path / "new",
        episode_filter=lambda row: row["svm/outcome"] == "success",
        video_backend="pyav",
    )
    assert good.num_episodes == 1
    assert read_view(tmp_path / "new").snapshot == read_view(toy).snapshot
    assert len(LabelLog(tmp_path / "new").entries()) == 4  # the history comes along
