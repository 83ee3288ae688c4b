"""Reading datasets: ours, LeRobot's own, and what must be refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recordings import number_in, numbered, record_toy
from toys import ToyEnv, ToyOperator, ToyPolicy

from svm_robot.data import columns, load_dataset
from svm_robot.data.layout import INFO
from svm_robot.errors import DataError
from svm_robot.recording.recorder import Recorder
from svm_robot.rollout import Outcome, run_episode


class Counting(ToyEnv):
    """Every picture carries its own number: 0, 1, 2, ... over all episodes, the wrist's 100 higher."""

    taken = -1

    def picture(self, height, width):
        self.taken += 1
        return numbered(self.taken // 2 + 100 * (self.taken % 2), height, width)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Three episodes of 5, 9 and 3 steps; a final observation takes one more pair of pictures each."""
    root = tmp_path_factory.mktemp("counted") / "d"
    env = Counting()
    env.reset()
    recorder = Recorder(root, env.spec, "count", latent_dim=2)
    recorder.open()
    for seed, steps in enumerate((5, 9, 3)):
        run_episode(env, ToyPolicy(wrong=True), ToyOperator(env), max_steps=steps, seed=seed, listeners=[recorder])
    recorder.close()
    return root


@pytest.fixture
def copy(counted, tmp_path):
    return shutil.copytree(counted, tmp_path / "copy")


def lerobot_dataset(root: Path, kind: str) -> None:
    """Two episodes of 4 frames by LeRobot's own writer, both in the same files, without any column of ours."""
    from lerobot.configs import RGBEncoderConfig
    from lerobot.datasets import LeRobotDataset

    shape, names = (32, 32, 3), ["height", "width", "channels"]
    features = {
        "observation.state": {"dtype": "float32", "shape": (2,), "names": {"motors": ["x", "y"]}},
        "action": {"dtype": "float32", "shape": (2,), "names": None},
        "next.success": {"dtype": "bool", "shape": (1,), "names": None},
        "observation.images.top": {"dtype": kind, "shape": shape, "names": names},
    }
    quality = RGBEncoderConfig(vcodec="h264", crf=5, preset="ultrafast", pix_fmt="yuv444p")
    made = LeRobotDataset.create("local/x", 10, features, root=root, rgb_encoder=quality, video_backend="pyav")
    for episode in range(2):
        for frame in range(4):
            number = 20 * (4 * episode + frame)
            made.add_frame(
                {
                    "observation.state": np.full(2, number, np.float32),
                    "action": np.zeros(2, np.float32),
                    "next.success": np.array([episode == 1 and frame == 3]),
                    "observation.images.top": numbered(number),
                    "task": "stack",
                }
            )
        made.save_episode(parallel_encoding=False)
    made.finalize()


def edit(root, **changes):
    info = json.loads((root / INFO).read_text())
    (root / INFO).write_text(json.dumps({**info, **changes}))


def rewrite(root, number, change):
    path = root / f"data/chunk-000/file-{number:03d}.parquet"
    pq.write_table(change(pq.read_table(path)), path)


def test_frames_belong_to_their_rows(counted):
    dataset = load_dataset(counted)
    assert [len(episode) for episode in dataset.episodes] == [5, 9, 3]
    assert (dataset.cameras, dataset.joints, dataset.rate_hz) == (
        {"front": (32, 32), "wrist": (32, 32)},
        ("a.pos", "b.pos"),
        10.0,
    )
    first = 0
    for episode in dataset.episodes:
        front = [number_in(frame) for frame in episode.frames["front"]]
        wrist = [number_in(frame) for frame in episode.frames["wrist"]]
        assert front == pytest.approx(list(range(first, first + len(episode))), abs=1)
        assert wrist == pytest.approx([number + 100 for number in front], abs=1)
        first += len(episode) + 1
    assert dataset.episodes[1].decision.tolist() == [True, False] * 4 + [True]
    assert dataset.episodes[1].latent.shape == (9, 2)
    assert dataset.episodes[1].task == "count"
    assert dataset.robot_type == "toy"


def test_frames_only_where_they_are_wanted(counted):
    assert load_dataset(counted, frames=False).episodes[0].frames == {}
    assert list(load_dataset(counted, roles=["wrist"]).episodes[0].frames) == ["wrist"]
    with pytest.raises(DataError, match="no camera top in the dataset; it has front, wrist"):
        load_dataset(counted, roles=["top"])


@pytest.mark.parametrize("kind", ["video", "image"])
def test_a_dataset_written_by_lerobot_itself(tmp_path, kind):
    lerobot_dataset(tmp_path / "d", kind)
    dataset = load_dataset(tmp_path / "d")
    assert dataset.joints == ("x", "y")
    assert [episode.outcome for episode in dataset.episodes] == [Outcome.FAILURE, Outcome.SUCCESS]
    for episode in dataset.episodes:
        assert (episode.uid, episode.latent, episode.task) == (episode.index, None, "stack")
        assert episode.decision.all()
        assert [number_in(frame) for frame in episode.frames["top"]] == pytest.approx(episode.state[:, 0], abs=2)


def test_a_missing_folder_and_a_folder_of_something_else(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        load_dataset(tmp_path / "none")
    with pytest.raises(DataError, match=r"is not a LeRobot dataset: meta/info\.json is missing"):
        load_dataset(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("v2.1", "LeRobot v2.1 dataset; this tool reads v3"),
        ("v2.0", "LeRobot v2.0 dataset"),
        ("2.3.0", "version '2.3.0'"),
        ("v4.0", "version 'v4.0'"),
    ],
)
def test_other_versions_are_named(copy, version, message):
    edit(copy, codebase_version=version)
    with pytest.raises(DataError, match=message):
        load_dataset(copy)


def test_a_later_v3_is_read(copy):
    edit(copy, codebase_version="v3.1")
    assert len(load_dataset(copy, frames=False).episodes) == 3


def test_a_damaged_info_file(copy):
    (copy / INFO).write_text('{"codebase_version": "v3.0", ')
    with pytest.raises(DataError, match="is damaged"):
        load_dataset(copy)
    (copy / INFO).write_text('{"codebase_version": "v3.0"}')
    with pytest.raises(DataError, match="lacks features, fps"):
        load_dataset(copy)


def test_an_unfinalised_recording_is_called_unfinished(copy):
    data = copy / "data/chunk-000/file-002.parquet"
    data.write_bytes(data.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"file-002\.parquet is unfinished or damaged.*killed"):
        load_dataset(copy)


def test_counted_episodes_without_metadata_are_called_unfinished(copy):
    edit(copy, total_episodes=4)
    with pytest.raises(DataError, match="counts 4 episodes, meta/episodes describes 3"):
        load_dataset(copy)


def test_a_missing_file_is_named(copy):
    video = "videos/observation.images.wrist/chunk-000/file-001.mp4"
    (copy / video).unlink()
    with pytest.raises(DataError, match=r"wrist/chunk-000/file-001\.mp4 is missing"):
        load_dataset(copy)
    assert len(load_dataset(copy, roles=["front"]).episodes) == 3


def test_a_row_without_its_frame_is_found(copy):
    folder = copy / "videos/observation.images.front/chunk-000"
    (folder / "file-001.mp4").write_bytes((folder / "file-000.mp4").read_bytes())
    with pytest.raises(DataError, match="front: 4 rows have no frame, the first is episode 1, frame 5"):
        load_dataset(copy)


def test_missing_rows_are_found(copy):
    rewrite(copy, 1, lambda table: table.slice(0, 7))
    with pytest.raises(DataError, match="episode 1: metadata says 9 frames, the data files hold 7 rows"):
        load_dataset(copy)


def test_numbers_that_are_not_finite_are_listed(copy):
    def poison(table):
        values = np.array(table[columns.STATE].to_pylist(), np.float32)
        values[2, 1] = np.nan
        at = table.schema.get_field_index(columns.STATE)
        return table.set_column(at, columns.STATE, pa.array(values.tolist(), pa.list_(pa.float32(), 2)))

    rewrite(copy, 1, poison)
    with pytest.raises(DataError, match=r"observation\.state: episode 1, frame 2, dim 1 is nan"):
        load_dataset(copy, frames=False)


def test_a_dataset_without_states_is_refused(copy):
    info = json.loads((copy / INFO).read_text())
    del info["features"][columns.STATE]
    edit(copy, features=info["features"])
    with pytest.raises(DataError, match=r"has no column observation\.state"):
        load_dataset(copy)


def test_joints_without_names_are_numbered(copy):
    info = json.loads((copy / INFO).read_text())
    info["features"][columns.STATE]["names"] = None
    edit(copy, features=info["features"])
    assert load_dataset(copy, frames=False).joints == ("joint_0", "joint_1")


def test_a_dataset_without_an_episode_is_empty_not_broken(tmp_path):
    recorder = Recorder(tmp_path / "d", ToyEnv().spec, "reach")
    recorder.open()
    recorder.close()
    assert load_dataset(tmp_path / "d").episodes == []


def test_reading_while_a_recorder_is_open(tmp_path):
    record_toy(tmp_path / "d", "sf")
    env = ToyEnv()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    recorder.writer.begin()
    assert len(load_dataset(tmp_path / "d").episodes) == 2
    recorder.close()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cr5-dobot-v21", "LeRobot v2.1 dataset; this tool reads v3"),
        ("g1-dualarm-v21", "LeRobot v2.1"),
        ("koch-screwdriver-v21", "LeRobot v2.1"),
        ("gr1-sim-groot-v20", "LeRobot v2.0"),
        ("meta-only/so101-50ep-v30-metaonly", "counts|missing|unfinished|damaged"),
        ("bridge-rlds-octo", "is not a LeRobot dataset"),
    ],
)
def test_real_recordings_are_refused_for_a_stated_reason(shared_data, name, message):
    with pytest.raises(DataError, match=message):
        load_dataset(shared_data / name)
