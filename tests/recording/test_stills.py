"""Single pictures instead of a video: exact or of a chosen quality, proven, and readable by LeRobot."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toys import ToyEnv, ToyOperator, ToyPolicy, ToySpec

from svm_robot.data import columns, load_dataset
from svm_robot.data.layout import read_info
from svm_robot.errors import DataError
from svm_robot.recording import commit, stills
from svm_robot.recording.encoder import Encoding
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.stills import StillsEncoder, check_written
from svm_robot.rollout import run_episode


def noise(number=0, height=33, width=47):
    return np.random.default_rng(number).integers(0, 256, (height, width, 3)).astype(np.uint8)


class Noisy(ToyEnv):
    """Another picture each time, that a codec cannot foresee."""

    def __init__(self):
        self.shown = {"front": [], "wrist": []}
        super().__init__(ToySpec(cameras={"front": (33, 47), "wrist": (32, 32)}))

    def observe(self, frames=True):
        seen = super().observe(frames)
        for role, size in self.spec.cameras.items():
            picture = noise(len(self.shown[role]), *size)
            self.shown[role].append(picture)
            seen.frames[role][:] = picture
        return seen


def record_noise(root, encoding, episodes=2):
    env = Noisy()
    recorder = Recorder(root, env.spec, "reach", 2, encoding, by="judge")
    recorder.open()
    try:
        for seed in range(episodes):
            run_episode(env, ToyPolicy(wrong=True), ToyOperator(env), max_steps=5, seed=seed, listeners=[recorder])
    finally:
        recorder.close()
    for role, shown in env.shown.items():
        env.shown[role] = shown[:5] + shown[6:11]  # without the observation after the last action
    return env.shown


@pytest.mark.parametrize("pictures", ["png", "jpeg"])
def test_both_readers_see_what_was_recorded(tmp_path, pictures):
    from lerobot.datasets import LeRobotDataset

    root = tmp_path / "d"
    shown = record_noise(root, Encoding(pictures=pictures, jpeg_quality=97))
    ours = load_dataset(root).episodes
    theirs = LeRobotDataset("local/d", root=root)
    assert sorted(theirs.meta.image_keys) == ["observation.images.front", "observation.images.wrist"]
    assert theirs.meta.video_keys == []
    for role, frames in shown.items():
        read = np.concatenate([episode.frames[role] for episode in ours])
        error = np.abs(read.astype(int) - np.stack(frames))
        assert error.max() == 0 if pictures == "png" else 0 < error.mean() < 8
        for number in range(10):
            item = np.moveaxis(theirs[number][columns.IMAGES + role].numpy(), 0, -1) * 255
            assert np.abs(item - read[number]).max() < 0.01
    assert not (root / "videos").exists()
    assert read_info(root)["video_path"] is None


def test_quality_is_kept_in_the_description_and_costs_bytes(tmp_path):
    sizes = []
    for quality in (30, 97):
        root = tmp_path / str(quality)
        record_noise(root, Encoding(pictures="jpeg", jpeg_quality=quality), 1)
        sizes.append((root / "data/chunk-000/file-000.parquet").stat().st_size)
        feature = read_info(root)["features"][columns.IMAGES + "front"]
        assert feature["info"] == {"image.format": "jpeg", "image.quality": quality}
    assert sizes[1] > 2 * sizes[0]


@pytest.mark.parametrize(("kept", "asked"), [("video", "png"), ("png", "jpeg"), ("jpeg", "video")])
def test_another_choice_is_refused_in_words_and_nothing_changes(tmp_path, kept, asked):
    root = tmp_path / "d"
    record_noise(root, Encoding(pictures=kept), 1)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    with pytest.raises(DataError, match=f"keeps its pictures as {kept}, --pictures={asked} asks .* --pictures={kept}"):
        record_noise(root, Encoding(pictures=asked), 1)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    record_noise(root, Encoding(pictures=kept), 1)
    assert len(load_dataset(root).episodes) == 2


def test_pictures_of_another_quality_are_refused(tmp_path):
    record_noise(tmp_path / "d", Encoding(pictures="jpeg", jpeg_quality=80), episodes=1)
    with pytest.raises(DataError, match="JPEG pictures of quality 80, --jpeg_quality=95 asks for another"):
        record_noise(tmp_path / "d", Encoding(pictures="jpeg"))
    record_noise(tmp_path / "d", Encoding(pictures="jpeg", jpeg_quality=80), episodes=1)
    assert len(load_dataset(tmp_path / "d").episodes) == 2


def keep(tmp_path, frames, pictures="png", encode=None):
    (tmp_path / "front").mkdir(exist_ok=True)
    used = StillsEncoder(tmp_path / "front" / "pictures.arrow", frames[0].shape[:2], Encoding(pictures=pictures))
    used.encode = encode or used.encode
    used.start()
    try:
        for frame in frames:
            used.put(frame)
        used.finish(len(frames))
        return used.column()
    finally:
        used.cancel()


@pytest.mark.parametrize("pictures", ["png", "jpeg"])
@pytest.mark.parametrize(
    "damage", [lambda _: b"", lambda content: content[: len(content) // 2], lambda _: b"no picture"]
)
def test_a_picture_that_does_not_decode_is_noticed_at_once(tmp_path, pictures, damage):
    real = stills.png(33, 47) if pictures == "png" else stills.jpeg(95)
    count = iter(range(100))

    def breaks(frame):
        return damage(real(frame)) if next(count) == 17 else real(frame)

    with pytest.raises(DataError, match="picture 17 does not decode"):
        keep(tmp_path, [noise(number) for number in range(40)], pictures, breaks)


def test_a_picture_of_another_moment_is_noticed(tmp_path):
    real = stills.png(33, 47)
    with pytest.raises(DataError, match="picture 0 decodes to another picture"):
        keep(tmp_path, [noise(1)], encode=lambda _: real(noise(2)))


def test_pictures_lie_in_batches_and_groups_so_that_long_episodes_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(stills, "BATCH_BYTES", 20_000)
    column = keep(tmp_path, [noise(number) for number in range(40)])
    assert (len(column), column.num_chunks > 3) == (40, True)
    table = pa.table({"n": range(40), "observation.images.front": column})
    pq.write_table(table, tmp_path / "data.parquet", **(commit.settings(table) | {"row_group_size": 16}))
    with pq.ParquetFile(tmp_path / "data.parquet") as file:
        assert file.num_row_groups == 3
        assert file.metadata.row_group(0).column(1).compression == "UNCOMPRESSED"
    check_written(tmp_path / "data.parquet", table)
    swapped = pa.table({"n": range(40), "observation.images.front": column.take(pa.array([0, 2, 1, *range(3, 40)]))})
    with pytest.raises(DataError, match="pictures from row 0 on are not those"):
        check_written(tmp_path / "data.parquet", swapped)
    with pytest.raises(DataError, match=r"holds 40 of 20 rows|are not those"):
        check_written(tmp_path / "data.parquet", table.slice(0, 20))
