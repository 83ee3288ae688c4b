"""What could not be saved is refused before the work begins."""

import os
from pathlib import Path

import pytest

from svm_robot.data import files, labels
from svm_robot.data.files import check_place, new_folder
from svm_robot.errors import CheckpointError
from svm_robot.rollout import Outcome


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


def test_a_kill_between_the_two_names_of_a_new_folder_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with new_folder(path) as fresh:
        (fresh / "weights").write_text("first")
    path.rename(tmp_path / ".model.old")  # killed here, with the second one whole but without its name
    with pytest.raises(RuntimeError), new_folder(path):
        raise RuntimeError
    assert (path / "weights").read_text() == "first" and [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_the_names_of_new_folders_are_put_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync", synced.append)
    (tmp_path / "staged").touch()
    files.publish(tmp_path / "staged", tmp_path / "data" / "chunk-000" / "file")
    assert {tmp_path, tmp_path / "data", tmp_path / "data" / "chunk-000", tmp_path / "staged"} == set(synced)
    synced.clear()
    (tmp_path / "staged").touch()
    files.publish(tmp_path / "staged", tmp_path / "data" / "chunk-000" / "other")
    assert synced == [tmp_path / "staged", tmp_path / "data" / "chunk-000"]


def test_the_name_of_a_new_label_log_is_put_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(labels, "sync", synced.append)
    for _ in range(2):
        labels.LabelLog(tmp_path).append(1, Outcome.SUCCESS, by="ada")
    assert synced == [tmp_path]
