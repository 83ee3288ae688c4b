"""What could not be saved is refused before the work begins."""

import os
from pathlib import Path

import pytest

from svm_robot.data.files import check_place, new_folder
from svm_robot.errors import CheckpointError


def test_a_free_place_and_an_older_one_to_replace_are_fine(tmp_path: Path) -> None:
    check_place(tmp_path / "a" / "b", "policy", "config.json", overwrite=False)
    (tmp_path / "config.json").write_text("{}")
    check_place(tmp_path, "policy", "config.json", overwrite=True)


def test_something_else_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="exists already"):
        check_place(tmp_path, "policy", "config.json", overwrite=False)
    with pytest.raises(CheckpointError, match="is no policy"):
        check_place(tmp_path, "policy", "config.json", overwrite=True)


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="is a file"):
        check_place(tmp_path / "file" / "policy", "policy", "config.json", overwrite=False)


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        os, "access", lambda *_: False
    )  # root may write everywhere, so permissions alone do not show it
    with pytest.raises(CheckpointError, match="no permission"):
        check_place(tmp_path / "policy", "policy", "config.json", overwrite=False)


def test_a_new_folder_appears_whole_and_replaces_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "a" / "policy"
    for word in ("first", "second"):
        with new_folder(target) as fresh:
            assert not target.exists() or (target / "word").read_text() == "first"
            (fresh / "word").write_text(word)
        assert (target / "word").read_text() == word
    assert [path.name for path in target.parent.iterdir()] == ["policy"]


def test_an_error_while_filling_leaves_the_old_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "policy") as fresh:
        (fresh / "word").write_text("first")
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "policy") as fresh:
        raise KeyboardInterrupt
    assert (tmp_path / "policy" / "word").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]
