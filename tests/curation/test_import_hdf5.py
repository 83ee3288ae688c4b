"""robomimic's HDF5: files of others are read, and what we write comes back as it was."""

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from foreign import LENGTHS, numbers, picture, write_robomimic, write_v2
from recordings import LOSSLESS, record_toy

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.formats.hdf5_writer import write_hdf5
from svm_robot.curation.formats.opened import ImportOptions
from svm_robot.curation.formats.recording import open_recording
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.curation.rebuild.source import open_source
from svm_robot.data import columns, load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.labels import LabelLog
from svm_robot.data.provenance import Provenance
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout.episode import Outcome

LIFT = ImportOptions(task="lift", state=("robot0_joint_pos", "robot0_gripper_qpos"))


def imported(path, target, options=LIFT):
    opened = open_recording(path, "auto", options)
    rebuild(target, opened.source.info, opened.source.episodes, opened.source.labels, Provenance())
    assert check_dataset(target, deep=True).ok
    return opened


def exported(root, path):
    write_hdf5(open_source(root), [episode.outcome for episode in read_view(root).episodes], path)
    return path


@pytest.fixture
def robomimic(tmp_path):
    return write_robomimic(tmp_path / "low_dim.hdf5")


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A success, a failure, one that was called unsure later, and one whose label was taken back."""
    root = tmp_path_factory.mktemp("toy") / "d"
    record_toy(root, "sfsf")
    uids = [episode.uid for episode in open_source(root).episodes]
    log = LabelLog(root)
    log.set(uids[2], Outcome.UNSURE, "me")
    lines = (root / "labels.jsonl").read_text().splitlines(keepends=True)
    (root / "labels.jsonl").write_text("".join(line for line in lines if str(uids[3]) not in line))
    return root


def change(path, edit):
    with h5py.File(path, "a") as file:
        edit(file)
    return path


def test_a_file_of_robomimic(robomimic, tmp_path):
    opened = imported(robomimic, tmp_path / "d")
    dataset = load_dataset(tmp_path / "d")
    assert [len(episode) for episode in dataset.episodes] == list(LENGTHS)
    assert (dataset.rate_hz, dataset.robot_type) == (10, "Panda")
    assert dataset.joints == ("robot0_joint_pos_0", "robot0_joint_pos_1", "robot0_gripper_qpos")
    for episode, length in zip(dataset.episodes, LENGTHS, strict=True):
        np.testing.assert_array_equal(episode.state[:, :2], numbers(length, episode.index))
        np.testing.assert_array_equal(episode.action, numbers(length, episode.index) + 1)
        shown = episode.frames["agentview"][length - 1]
        assert np.abs(shown.astype(int) - picture(episode.index, length - 1)).max() <= LOSSLESS
    assert [episode.kind for episode in read_view(tmp_path / "d").episodes] == ["failure", "success", "failure"]
    assert "left out: the observation agentview_depth, object" in opened.notes


def test_all_vectors_make_the_state_unless_some_are_chosen(robomimic):
    opened = open_recording(robomimic, "auto", ImportOptions(task="lift", cameras=()))
    assert opened.source.info["features"][columns.STATE]["shape"] == [13]
    assert "the state is made of object, robot0_gripper_qpos, robot0_joint_pos" in opened.notes


@pytest.fixture(scope="module")
def there_and_back(toy, tmp_path_factory):
    """(the file, the dataset that was made from it)."""
    folder = tmp_path_factory.mktemp("back")
    path = exported(toy, folder / "toy.hdf5")
    imported(path, folder / "back", ImportOptions())
    return path, folder / "back"


@pytest.mark.parametrize("member", ["columns", "pictures", "labels", "again"])
def test_what_we_write_comes_back(toy, there_and_back, tmp_path, member):
    path, back = there_and_back
    before, after = load_dataset(toy), load_dataset(back)
    if member == "columns":
        assert (after.joints, after.rate_hz, after.robot_type) == (before.joints, before.rate_hz, before.robot_type)
        rows = [[episode.table() for episode in open_source(root).episodes] for root in (toy, back)]
        for old, new in zip(*rows, strict=True):
            told = {columns.REWARD, columns.DONE, columns.SUCCESS}
            assert {*old} - {*new} <= told
            for key in {*new} - told:
                np.testing.assert_array_equal(np.squeeze(old[key]), np.squeeze(new[key]), err_msg=key)
    elif member == "pictures":
        for mine, theirs in zip(before.episodes, after.episodes, strict=True):
            for role in mine.frames:
                assert np.abs(mine.frames[role].astype(int) - theirs.frames[role]).max() <= LOSSLESS
    elif member == "labels":
        views = [read_view(root) for root in (toy, back)]
        assert [episode.kind for episode in views[0].episodes] == ["success", "failure", "unsure", "unlabelled"]
        assert views[0].snapshot == views[1].snapshot
        assert [episode.task for episode in after.episodes] == ["reach"] * 4
    else:
        again = exported(back, tmp_path / "again.hdf5")
        with h5py.File(path) as one, h5py.File(again) as two:
            np.testing.assert_array_equal(one["data/demo_1/actions"], two["data/demo_1/actions"])
            assert {*one["data/demo_1/columns"]} == {*two["data/demo_1/columns"]}


def test_what_robomimic_looks_for(there_and_back):
    with h5py.File(there_and_back[0]) as file:
        data = file["data"]
        demos = [data[f"demo_{number}"] for number in range(4)]
        assert data.attrs["total"] == sum(demo.attrs["num_samples"] for demo in demos)
        assert json.loads(data.attrs["env_args"])["env_kwargs"]["control_freq"] == 10
        for demo in demos:
            length = demo.attrs["num_samples"]
            assert demo["actions"].shape == (length, 2)
            assert demo["obs/state"].shape == (length, 2)
            assert demo["obs/front_image"].shape == (length, 32, 32, 3)
            assert demo["obs/front_image"].dtype == np.uint8
            assert demo["dones"][:].tolist() == [0] * (length - 1) + [1]
        assert [demo["rewards"][-1] for demo in demos[:3]] == [1, 0, 0]
        masks = {kind: [name.decode() for name in names] for kind, names in file["mask"].items()}
        assert masks == {"success": ["demo_0"], "failure": ["demo_1"], "unsure": ["demo_2"], "unlabelled": ["demo_3"]}


def test_datasets_of_others_can_be_exported_too(tmp_path):
    opened = open_recording(write_v2(tmp_path / "v2"), "auto", ImportOptions())
    rebuild(tmp_path / "d", opened.source.info, opened.source.episodes, opened.source.labels, Provenance())
    imported(exported(tmp_path / "d", tmp_path / "d.h5"), tmp_path / "back", ImportOptions())
    assert load_dataset(tmp_path / "back").label_hash == load_dataset(tmp_path / "d").label_hash


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DataError("a torn video"), "a torn video"),
        (OSError(28, "time = now\n, errno = 28"), "toy.hdf5 could not be written (No space left on device); nothing"),
        (OSError("time = now\n, buf = 0"), "toy.hdf5 could not be written (time = now , buf = 0); nothing was changed"),
    ],
)
def test_a_failed_export_leaves_nothing(toy, tmp_path, monkeypatch, error, told):
    def broken(*_):
        raise error

    monkeypatch.setattr("svm_robot.curation.formats.hdf5_writer.pictures", broken)
    with pytest.raises(DataError, match=re.escape(told)):
        exported(toy, tmp_path / "toy.hdf5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("edit", "options", "message"),
    [
        (lambda f: f.move("data", "datas"), LIFT, "no group 'data'"),
        (lambda f: [f["data"].pop(f"demo_{n}") for n in range(3)], LIFT, "holds no demos"),
        (lambda f: [f[f"data/demo_{n}"].pop("obs") for n in range(3)], LIFT, "demo_0 has no obs"),
        (lambda f: f["data/demo_1"].pop("actions"), LIFT, "does not fit the first one.*episodes: 1"),
        (lambda f: f["data/demo_1/obs"].pop("robot0_joint_pos"), LIFT, "does not fit the first one.*episodes: 1"),
        (lambda f: f["data/demo_1/obs"].pop("agentview_image"), LIFT, "camera agentview.*one picture for each row"),
        (lambda f: f["data/demo_1/actions"].write_direct(np.full((9, 2), np.nan)), LIFT, "not finite.*episodes: 1"),
        (lambda f: f["data"].attrs.update(env_args="{"), LIFT, "damaged"),
        (lambda f: f["data"].attrs.update(svm_robot='{"version": 9}'), LIFT, "version 9, this tool reads 1"),
        (lambda f: f["data"].attrs.update(env_args="{}"), LIFT, "add --fps="),
        (lambda _: None, ImportOptions(), "add --task="),
        (lambda _: None, ImportOptions(task="t", rate_hz=30), "its control rate is 10 Hz; leave --fps=30 out"),
        (lambda _: None, ImportOptions(task="t", state=("nose",)), "no observation nose; its vectors are"),
        (lambda _: None, ImportOptions(task="t", cameras=("nose",)), "no camera nose.*it has agentview"),
    ],
)
def test_what_is_refused(robomimic, edit, options, message):
    change(robomimic, edit)
    with pytest.raises((ConfigError, DataError), match=message):
        open_recording(robomimic, "auto", options)


def test_a_demo_that_does_not_fit_can_be_left_out(robomimic, tmp_path):
    change(robomimic, lambda f: f["data/demo_1/obs"].pop("robot0_joint_pos"))
    opened = imported(robomimic, tmp_path / "d", ImportOptions(only_whole=True, task="t", state=("robot0_joint_pos",)))
    assert opened.left_out == (1,)


@pytest.mark.parametrize("content", [b"", b"not HDF5 at all", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_a_file_that_is_no_hdf5(tmp_path, content):
    path = tmp_path / "a.hdf5"
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as HDF5"):
        open_recording(path, "auto", LIFT)


def test_a_file_that_was_cut_off(robomimic):
    content = robomimic.read_bytes()
    Path(robomimic).write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="cannot be read as HDF5"):
        open_recording(robomimic, "auto", LIFT)
