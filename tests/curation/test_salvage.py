"""A recording of LeRobot's own writer that was killed: the footer is missing, the rows are not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damages import cut, data_files, drop_metadata_row, video_files
from lerobot_reading import lerobot_reads
from trees import tree_hash

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.mend.footer import pages_of, read_without_footer
from svm_robot.curation.mend.repair import plan_repair, repair
from svm_robot.curation.mend.thrift import ThriftReader, to_bytes
from svm_robot.data import load_dataset
from svm_robot.data.layout import read_layout
from svm_robot.errors import DataError

CHILD = """
import os, sys
from pathlib import Path
from lerobot_reading import write_with_lerobot
for kind, episodes in (("video", 4), ("image", 3), ("video", 12)):
    written = write_with_lerobot(Path(sys.argv[1]) / f"{kind}{episodes}", kind, episodes, finalize=False)
    globals()[f"kept_{kind}{episodes}"] = written  # a writer that is collected finalizes itself
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Datasets of a LeRobot process that was killed with SIGKILL before it finalized them."""
    root = tmp_path_factory.mktemp("killed")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", CHILD, str(root)], env=environment, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr.decode()
    return root


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "episodes"), [("video4", 4), ("image3", 3), ("video12", 12)])
def test_every_saved_episode_is_found_again(killed, tmp_path, name, episodes):
    root = shutil.copytree(killed / name, tmp_path / "d")
    assert lerobot_reads(root), "LeRobot cannot read it"
    report = check_dataset(root)
    told = "\n".join(map(str, report.findings))
    assert (report.counted, report.verified) == (episodes, ())
    assert "data/chunk-000/file-000.parquet has no footer" in told
    assert "meta/info.json counts it, but meta/episodes has no row for it" in told
    assert "--dry_run" in report.advice

    before = tree_hash(root)
    done = repair(plan_repair(root), lambda: 0.0)
    assert (done.plan.way, done.plan.kept) == ("salvage", tuple(range(episodes)))
    assert tree_hash(done.backup) == before, "as it was it is kept"
    assert not lerobot_reads(root)
    random = np.random.default_rng(0)
    for episode in load_dataset(root).episodes:
        assert len(episode) == 5
        for state, action, picture in zip(episode.state, episode.action, episode.frames["top"], strict=True):
            np.testing.assert_array_equal(state, random.normal(size=2).astype(np.float32))
            np.testing.assert_array_equal(action, random.normal(size=2).astype(np.float32))
            shown = random.integers(0, 255, (32, 32, 3), dtype=np.uint8)
            assert np.abs(picture.astype(int) - shown).mean() < 8, "each row has its own picture"


def test_a_file_that_ends_in_mid_page_gives_its_whole_groups_of_rows(killed, tmp_path):
    root = shutil.copytree(killed / "video4", tmp_path / "d")
    cut(data_files(root)[0], 0.7)
    assert repair(plan_repair(root), lambda: 0.0).plan.kept == (0, 1)
    assert [len(episode) for episode in load_dataset(root).episodes] == [5, 5]


def test_frames_are_never_guessed(killed, tmp_path):
    """Where rows and frames do not add up nothing tells which frame is missing."""
    from damages import encode_again

    root = shutil.copytree(killed / "video4", tmp_path / "d")
    encode_again(video_files(root)[0], lambda number: number != 7)
    with pytest.raises(DataError, match="none of the 4 episodes"):
        plan_repair(root)


def test_a_video_that_is_missing_shifts_no_other_onto_its_rows(tmp_path):
    from recordings import record_toy

    root = tmp_path / "d"
    record_toy(root, "ffff", max_steps=5)
    drop_metadata_row(root, 2)
    for video in root.glob("videos/*/*/file-002.mp4"):
        video.unlink()
    assert plan_repair(root).kept == (0, 1, 3)


def tables():
    random = np.random.default_rng(3)
    count = 700
    vector = pa.FixedSizeListArray.from_arrays(pa.array(random.normal(size=count * 6).astype(np.float32)), 6)
    words = pa.array([f"word {number % 5}" for number in range(count)])
    whole = {"a": vector, "b": pa.array(np.arange(count)), "c": pa.array(random.random(count) > 0.5), "d": words}
    yield "dictionaries", pa.table(whole), [6, 1, 1, 1], {}
    yield "no dictionaries", pa.table(whole), [6, 1, 1, 1], {"use_dictionary": False}
    yield "several groups", pa.table(whole), [6, 1, 1, 1], {"row_group_size": 200}
    yield "small pages", pa.table(whole), [6, 1, 1, 1], {"data_page_size": 256}
    yield "second version of pages", pa.table(whole), [6, 1, 1, 1], {"data_page_version": "2.0"}


@pytest.mark.parametrize(
    ("table", "widths", "how"), [case[1:] for case in tables()], ids=[case[0] for case in tables()]
)
def test_a_file_reads_the_same_without_its_footer(tmp_path, table, widths, how):
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, **how)
    size = int.from_bytes(path.read_bytes()[-8:-4], "little")
    path.write_bytes(path.read_bytes()[: -size - 8])
    assert read_without_footer(path, table.schema, widths).equals(table)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\x15" * 999, b"x" * 5000, bytes(range(256)) * 40])
def test_what_is_no_parquet_holds_no_rows(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    assert len(pages_of(content)) < 3
    with pytest.raises(DataError, match="holds no whole group of rows"):
        read_without_footer(tmp_path / "x.parquet", pa.schema([pa.field("a", pa.int64())]), [1])


def test_a_footer_survives_reading_and_writing(tmp_path):
    pq.write_table(next(tables())[1], tmp_path / "x.parquet")
    data = (tmp_path / "x.parquet").read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    assert to_bytes(ThriftReader(footer).struct()) == footer


def test_metadata_is_written_anew_with_the_right_tasks(killed, tmp_path):
    root = shutil.copytree(killed / "image3", tmp_path / "d")
    repair(plan_repair(root), lambda: 0.0)
    assert [row["tasks"] for row in read_layout(root).episodes] == [["stack"]] * 3
