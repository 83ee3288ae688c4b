"""Our recordings after LeRobot's own tools have joined them: shared files, and old entries about them."""

import shutil
from pathlib import Path

import pytest
from lerobot_reading import lerobot_reads
from recordings import record_toy

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.curation.rebuild.source import open_source
from svm_robot.data import load_dataset
from svm_robot.data.labels import FILE, LabelLog
from svm_robot.data.layout import DIGEST, read_layout
from svm_robot.recording.recovery import SET_ASIDE


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from lerobot.datasets.aggregate import aggregate_datasets

    folder = tmp_path_factory.mktemp("merged")
    roots = [folder / "a", folder / "b"]
    for number, root in enumerate(roots):
        record_toy(root, "sf", max_steps=6, seed=10 * number)
    aggregate_datasets(["local/a", "local/b"], "local/ab", roots=roots, aggr_root=folder / "ab")
    return folder / "ab"


@pytest.fixture
def copy(merged: Path, tmp_path: Path) -> Path:
    return shutil.copytree(merged, tmp_path / "d")


def test_digests_of_files_that_are_no_more_say_nothing(copy: Path, tmp_path: Path) -> None:
    layout = read_layout(copy)
    assert len({layout.data_file(row) for row in layout.episodes}) == 1  # else this test shows nothing
    assert not any(value for row in layout.episodes for name, value in row.items() if name.startswith(DIGEST))
    assert check_dataset(copy, deep=True).ok
    source = open_source(copy)
    made = rebuild(tmp_path / "new", source.info, source.episodes[1:], source.labels, source.provenance)
    assert made.episodes == 3 and check_dataset(made.root).ok


def test_a_recording_goes_on_and_makes_up_no_label(copy: Path) -> None:
    uids = [episode.uid for episode in load_dataset(copy, frames=False).episodes]
    record_toy(copy, "s", max_steps=6, seed=30)
    assert check_dataset(copy).verified == (0, 1, 2, 3, 4) and lerobot_reads(copy) == ""
    assert not (copy / SET_ASIDE).exists() and not set(uids) & set(LabelLog(copy).current())


def test_metadata_lies_where_it_was_found(copy: Path) -> None:
    layout = read_layout(copy)
    assert all(layout.episodes_file(row).is_file() for row in layout.episodes)


def test_a_kill_before_the_first_label_of_all_is_healed(tmp_path: Path) -> None:
    record_toy(tmp_path / "d", "s", max_steps=6)
    (tmp_path / "d" / FILE).unlink()
    record_toy(tmp_path / "d", "f", max_steps=6, seed=1)
    assert len(LabelLog(tmp_path / "d").current()) == 2
