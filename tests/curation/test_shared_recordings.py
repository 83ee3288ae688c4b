"""Every recording of others that claims to be a LeRobot dataset opens, or is refused for a stated reason."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.formats.opened import ImportOptions
from svm_robot.curation.formats.recording import open_recording
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.data import columns, load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.provenance import Provenance
from svm_robot.errors import DataError

pytestmark = pytest.mark.data


@dataclass(frozen=True)
class Case:
    """A recording, what a person asks for, and what comes of it."""

    folder: str
    options: ImportOptions = field(default_factory=ImportOptions)
    refused: str = ""
    """What the refusal must say; empty when it opens."""
    episodes: int = 0
    frames: int = 0
    left_out: int = 0
    labels: int = 0


BLIND = ImportOptions(cameras=())
WHOLE = ImportOptions(only_whole=True)
CASES = [
    Case("cr5-dobot-v21", refused=r"camera top: the video is missing \(76 of 81 episodes: 0 to 68, 74 to 80\)"),
    Case("cr5-dobot-v21", WHOLE, episodes=5, frames=932, left_out=76),
    Case("cr5-dobot-v21", BLIND, episodes=81, frames=18039),
    Case("g1-dualarm-v21", refused=r"the data file is missing \(86 of 100 episodes: 12 to 28, 31 to 99\)"),
    Case("g1-dualarm-v21", WHOLE, episodes=2, frames=498, left_out=98),
    Case("g1-dualarm-v21", BLIND, refused="14 whole episodes alone with --only_whole"),
    Case("g1-dualarm-v21", ImportOptions(only_whole=True, cameras=()), episodes=14, frames=5445, left_out=86),
    Case("koch-screwdriver-v21", refused="camera side: the video is missing .5 of 5 episodes.*--without_videos"),
    Case("koch-screwdriver-v21", WHOLE, refused="camera side: the video is missing"),
    Case("koch-screwdriver-v21", BLIND, episodes=5, frames=1217),
    Case("gr1-sim-groot-v20", refused="without the camera egoview: name the others in --cameras"),
    Case("gr1-sim-groot-v20", ImportOptions(cameras=("ego_view",)), episodes=5, frames=2096, labels=5),
    Case("meta-only/franka-fer-v21-metaonly", refused="The data files are missing"),
    Case("meta-only/g1edu-robocoin-v21-lfspointers", refused="Git LFS pointers.*git lfs pull"),
    Case("meta-only/so100-greentape-v30-metaonly", refused="The data files are missing"),
    Case("meta-only/so101-50ep-v30-metaonly", refused="The data files are missing"),
    Case("meta-only/so101-dual-perjoint-v21-metaonly", refused="The data files are missing"),
    Case("bridge-rlds-octo", refused="no recording that can be imported.*RLDS"),
    Case("hilserl-so101-labels", refused="no recording that can be imported"),
]


def name(case):
    asked = "whole" * case.options.only_whole + "blind" * (case.options.cameras == ())
    return f"{Path(case.folder).name}-{asked or 'plain'}"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_opens_or_says_why_not(shared_data, case):
    if case.refused:
        with pytest.raises(DataError, match=case.refused):
            open_recording(shared_data / case.folder, "auto", case.options)
        return
    opened = open_recording(shared_data / case.folder, "auto", case.options)
    assert len(opened.source.episodes) == case.episodes
    assert sum(episode.length for episode in opened.source.episodes) == case.frames
    assert (len(opened.left_out), len(opened.source.labels)) == (case.left_out, case.labels)


def test_every_dataset_that_lies_there_is_in_the_table(shared_data):
    found = {str(path.parents[1].relative_to(shared_data)) for path in shared_data.rglob("meta/info.json")}
    assert found <= {case.folder for case in CASES}


def imported(path, target, options, only=slice(None)):
    """All episodes, or some of them: decoding takes its time."""
    opened = open_recording(path, "auto", options)
    rebuild(target, opened.source.info, opened.source.episodes[only], opened.source.labels, Provenance())
    assert check_dataset(target, deep=True).ok
    return load_dataset(target, frames=False)


def test_g1_becomes_a_whole_dataset_with_its_pictures(shared_data, tmp_path):
    """Names in a list in a list; two episodes of a hundred are whole."""
    source = shared_data / "g1-dualarm-v21"
    ours = imported(source, tmp_path / "d", WHOLE, slice(0, 1))
    assert (ours.joints[0], len(ours.joints)) == ("kLeftShoulderPitch", 26)
    for episode, number in zip(ours.episodes, (29,), strict=True):
        table = pq.read_table(source / f"data/chunk-000/episode_{number:06d}.parquet")
        np.testing.assert_array_equal(episode.action, np.array(table["action"].to_pylist(), np.float32))


def test_gr1_keeps_what_it_says_of_success(shared_data, tmp_path):
    """Version 2.0 without frame_index, float rate, two sentences in each episode, wrong file names."""
    ours = imported(shared_data / "gr1-sim-groot-v20", tmp_path / "d", ImportOptions(cameras=()))
    assert [episode.kind for episode in read_view(tmp_path / "d").episodes] == ["success"] * 5
    assert ours.rate_hz == 20
    assert ours.episodes[1].task == "pick the sweet potato from the counter and place it in the plate"


def test_cr5_keeps_its_own_clock_beside_the_ticks(shared_data, tmp_path):
    source = shared_data / "cr5-dobot-v21"
    imported(source, tmp_path / "d", BLIND, slice(40, 42))
    table = pq.read_table(tmp_path / "d/data/chunk-000/file-000.parquet")
    theirs = pq.read_table(source / "data/chunk-000/episode_000040.parquet")
    np.testing.assert_array_equal(np.float32(table[columns.SOURCE_TIME].to_numpy()), theirs["timestamp"].to_numpy())
    assert np.ptp(np.diff(table["timestamp"].to_numpy())) < 1e-5
    assert np.ptp(np.diff(table[columns.SOURCE_TIME].to_numpy())) > 0.01


def test_joints_with_a_column_each_once_the_data_is_there(shared_data, tmp_path):
    """The metadata of a real set of two arms, with rows made to fit it."""
    root = shutil.copytree(shared_data / "meta-only/so101-dual-perjoint-v21-metaonly", tmp_path / "d")
    root.chmod(0o755)
    info = json.loads((root / "meta/info.json").read_text())
    length = info["total_frames"]
    numeric = {key: feature for key, feature in info["features"].items() if feature["dtype"] != "video"}
    rows = {
        key: np.arange(length) + number if feature["dtype"] == "float32" else np.zeros(length, np.int64)
        for number, (key, feature) in enumerate(numeric.items())
    }
    rows |= {"timestamp": np.arange(length) / info["fps"], "frame_index": np.arange(length)}
    (root / "data/chunk-000").mkdir(parents=True)
    pq.write_table(pa.table(rows), root / "data/chunk-000/episode_000000.parquet")
    ours = imported(root, tmp_path / "out", BLIND)
    assert ours.joints[:2] == ("left_shoulder_pan.pos", "left_shoulder_lift.pos")
    assert ours.episodes[0].state.shape == ours.episodes[0].action.shape == (length, 12)
    assert ours.episodes[0].state[0].tolist() == list(range(0, 24, 2))
