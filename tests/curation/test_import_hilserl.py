"""HIL-SERL transitions become episodes."""

import gzip
import pickle

import numpy as np
import pytest
from foreign import picture, transitions, write_pickle
from recordings import LOSSLESS

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.formats.hilserl import Files
from svm_robot.curation.formats.opened import ImportOptions
from svm_robot.curation.formats.recording import open_recording
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.curation.rebuild.source import open_source
from svm_robot.data import columns, load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.provenance import Provenance
from svm_robot.errors import ConfigError, DataError

SAID = ImportOptions(rate_hz=10, task="push it", robot_type="so101", time=5.0)


def imported(path, target, options=SAID):
    opened = open_recording(path, "auto", options)
    rebuild(target, opened.source.info, opened.source.episodes, opened.source.labels, Provenance())
    assert check_dataset(target, deep=True).ok
    return opened


def test_episodes_numbers_pictures_and_labels(tmp_path):
    imported(write_pickle(tmp_path / "a.pkl", transitions("sfts")), tmp_path / "d")
    dataset = load_dataset(tmp_path / "d")
    assert [len(episode) for episode in dataset.episodes] == [4] * 4
    assert (dataset.rate_hz, dataset.robot_type, dataset.joints) == (10, "so101", ("state_0", "state_1"))
    for episode in dataset.episodes:
        np.testing.assert_array_equal(episode.state[:, 1], np.full(4, np.float32(episode.index) / np.float32(7)))
        np.testing.assert_array_equal(episode.action[:, 0], np.arange(4))
        assert episode.task == "push it"
        for row, frame in enumerate(episode.frames["wrist_1"]):
            assert np.abs(frame.astype(int) - picture(episode.index, row)).max() <= LOSSLESS
    assert [episode.kind for episode in read_view(tmp_path / "d").episodes] == [
        "success",
        "failure",
        "unlabelled",  # a time limit leaves no 'dones': nobody said what it was
        "success",
    ]
    assert {(label.by, label.time) for label in open_source(tmp_path / "d").labels} == {("import", 5.0)}
    tables = [episode.table() for episode in open_source(tmp_path / "d").episodes]
    assert [bool(table[columns.TRUNCATED][-1]) for table in tables] == [False, True, True, False]
    assert all(table[columns.DONE].tolist() == [False, False, False, True] for table in tables)
    assert tables[0][columns.INTERVENTION].tolist() == [False, True, False, False]
    assert tables[0][columns.REWARD].tolist() == [0, 0, 0, 1]


def test_an_episode_goes_on_in_the_next_file(tmp_path):
    """As the training script leaves them: a file every so many steps, numbered without leading zeros."""
    folder = tmp_path / "buffer"
    folder.mkdir()
    made = transitions("sfs")
    (folder / "transitions_1000.pkl").write_bytes(pickle.dumps(made[:6]))
    (folder / "transitions_2000.pkl.gz").write_bytes(gzip.compress(pickle.dumps(made[6:9])))
    (folder / "transitions_10000.pkl").write_bytes(pickle.dumps(made[9:]))
    opened = imported(folder, tmp_path / "d")
    whole = imported(write_pickle(tmp_path / "a.pkl", made), tmp_path / "whole")
    assert [e.uid for e in opened.source.episodes] == [e.uid for e in whole.source.episodes]
    assert load_dataset(tmp_path / "d").fingerprint == load_dataset(tmp_path / "whole").fingerprint


def test_one_file_at_a_time_is_in_memory(tmp_path, monkeypatch):
    paths = [write_pickle(tmp_path / f"{number}.pkl", transitions("s")) for number in range(3)]
    files = Files(paths)
    kept = files.load(0)
    assert files.load(0) is kept
    files.load(2)
    assert files._open is not None
    assert files._open[0] == 2


@pytest.mark.parametrize("missing", ["rate_hz", "task"])
def test_what_transitions_do_not_store_must_be_said(tmp_path, missing):
    path = write_pickle(tmp_path / "a.pkl", transitions())
    options = {"rate_hz": 10, "task": "push it"} | {missing: None}
    with pytest.raises(ConfigError, match="--fps=10 --task="):
        open_recording(path, "auto", ImportOptions(**options))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "a list of 0"),
        ({"observations": 1}, "dict"),
        ([1, 2], "expected a list of transitions"),
        ([{"observations": {"state": np.zeros(2)}}], "has no actions"),
        ([{"observations": {}, "actions": np.zeros(2)}], "no observation of numbers"),
        ([{"observations": {"state": "text"}, "actions": np.zeros(2)}], "no observation of numbers"),
        ([{"observations": {"state": np.zeros(2)}, "actions": "left"}], "expected a vector of numbers"),
    ],
)
def test_what_is_no_list_of_transitions(tmp_path, value, message):
    path = write_pickle(tmp_path / "a.pkl", value)
    with pytest.raises(DataError, match=message):
        open_recording(path, "auto", SAID)


def test_pictures_that_are_no_bytes_are_left_out_and_said(tmp_path):
    made = transitions("s")
    for item in made:
        item["observations"]["depth"] = np.zeros((8, 8, 1), np.float32)
    opened = open_recording(write_pickle(tmp_path / "a.pkl", made), "auto", SAID)
    assert "left out: the observation depth" in opened.notes
    assert list(opened.source.episodes[0].frames) == [columns.IMAGES + "wrist_1"]


def test_shuffled_transitions_are_no_episodes(tmp_path):
    made = transitions("tttt")
    np.random.default_rng(0).shuffle(made)
    with pytest.raises(DataError, match="do not lead to the next one"):
        open_recording(write_pickle(tmp_path / "a.pkl", made), "auto", SAID)


def test_numbers_that_do_not_fit_name_their_episode(tmp_path):
    made = transitions("sss")
    made[5]["actions"] = np.array([1.0, np.nan, 0.0])
    path = write_pickle(tmp_path / "a.pkl", made)
    with pytest.raises(DataError, match=r"not finite.*episodes: 1"):
        open_recording(path, "auto", SAID)
    made[5]["actions"] = np.zeros(2)
    path = write_pickle(tmp_path / "b.pkl", made)
    with pytest.raises(DataError, match=r"not all of one length.*episodes: 1"):
        open_recording(path, "auto", SAID)


def test_observations_of_several_shapes(tmp_path):
    """Nested states, stacks, grey pictures, channels first, and a choice of what the state is."""
    made = transitions("s")
    for item in made:
        for key in ("observations", "next_observations"):
            seen = item[key]
            item[key] = {
                "state": {"pose": np.stack([seen["state"][0] - 1, seen["state"][0]]), "gripper": 0.5},
                "grey": seen["wrist_1"][0][..., :1],
                "first": np.moveaxis(seen["wrist_1"][0], -1, 0),
            }
    path = write_pickle(tmp_path / "a.pkl", made)
    imported(path, tmp_path / "d")
    episode = load_dataset(tmp_path / "d").episodes[0]
    assert load_dataset(tmp_path / "d", frames=False).joints == ("state.gripper", "state.pose_0", "state.pose_1")
    np.testing.assert_allclose(episode.state[:, 1], np.arange(4) / 7, rtol=1e-6)
    assert np.abs(episode.frames["first"][2].astype(int) - picture(0, 2)).max() <= LOSSLESS
    assert np.ptp(episode.frames["grey"][2].astype(int), axis=-1).max() <= LOSSLESS
    chosen = open_recording(path, "auto", ImportOptions(rate_hz=10, task="t", state=("state.gripper",), cameras=()))
    assert chosen.source.info["features"][columns.STATE]["shape"] == [1]
    with pytest.raises(ConfigError, match=r"no observation nose; its vectors are: state"):
        open_recording(path, "auto", ImportOptions(rate_hz=10, task="t", state=("nose",)))
