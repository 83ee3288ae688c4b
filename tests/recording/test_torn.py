"""Opening a damaged dataset for recording: refused at a glance, before anything is touched, with the way out."""

import json
import shutil

import pytest
from damages import cut, data_files, drop_metadata_row, edit_info, meta_files, video_files
from recordings import record_toy
from toys import ToySpec
from trees import tree_hash

from svm_robot.data.layout import read_info
from svm_robot.errors import DataError
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.torn import read_counted


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    root = tmp_path_factory.mktemp("torn") / "d"
    record_toy(root, "ffff", max_steps=4)
    return root


@pytest.fixture
def copy(recorded, tmp_path):
    return shutil.copytree(recorded, tmp_path / "d")


DAMAGES = {
    "first data file gone": (lambda root: data_files(root)[0].unlink(), "episode 0: data/chunk-000/file-000.parquet"),
    "last data file cut": (
        lambda root: cut(data_files(root)[-1], 0.9),
        "episode 3: .* was cut short or never finished",
    ),
    "a video gone": (lambda root: video_files(root)[1].unlink(), "episode 1: videos/.*No such file"),
    "a video empty": (lambda root: video_files(root)[-1].write_bytes(b""), "file-003.mp4 is empty"),
    "last video cut": (lambda root: cut(video_files(root)[-1], 0.5), "episode 3: .* is not what was saved"),
    "count ahead": (lambda root: edit_info(root, total_episodes=6), "counts 6 episodes, meta/episodes describes 4"),
    "frames ahead": (lambda root: edit_info(root, total_frames=99), "counts 99 frames, the episodes hold 16"),
    "metadata row gone": (lambda root: drop_metadata_row(root, 2), "describes 3 of them"),
    "metadata torn": (lambda root: cut(meta_files(root)[1], 0.5), "unfinished or damaged"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_among_the_counted_episodes_is_refused_and_nothing_is_touched(copy, name):
    spoil, complaint = DAMAGES[name]
    (copy / ".recording").mkdir()
    (copy / ".recording" / "half.mp4").write_bytes(b"evidence")
    spoil(copy)
    before = tree_hash(copy, leave_out=(".recording.lock",))
    recorder = Recorder(copy, ToySpec(), "reach", latent_dim=2)
    with pytest.raises(DataError, match=complaint) as error:
        recorder.open()
    assert f"svm-robot data repair {copy}" in str(error.value)
    assert tree_hash(copy, leave_out=(".recording.lock",)) == before


def test_a_whole_dataset_passes_and_what_a_cut_off_recording_left_is_no_damage(copy):
    shutil.copy(data_files(copy)[-1], data_files(copy)[-1].with_name("file-004.parquet"))
    (copy / "data/chunk-000/file-005.parquet").write_bytes(b"PAR1torn")
    assert len(read_counted(copy).episodes) == 4
    recorder = record_toy(copy, "f", max_steps=4)
    assert (recorder.summary.episode, len(recorder.writer.set_aside)) == (4, 2)


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"frame_index": {}}', '{"frame_index": {"count": ["x"]}}'])
def test_statistics_that_cannot_be_read_are_computed_anew(copy, content):
    (copy / "meta/stats.json").write_text(content)
    record_toy(copy, "f", max_steps=4)
    stats = json.loads((copy / "meta/stats.json").read_text())
    assert stats["action"]["count"] == [read_info(copy)["total_frames"]] == [20]


def test_another_format_gets_no_offer_to_mend_it(copy):
    edit_info(copy, codebase_version="v2.1")
    with pytest.raises(DataError) as error:
        read_counted(copy)
    assert "data repair" not in str(error.value)
