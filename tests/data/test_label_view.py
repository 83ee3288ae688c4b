"""The current labels of a dataset, joined with the episodes that are there."""

import json
import shutil
from pathlib import Path

import pytest
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.label_view import parse_episodes, parse_kinds, read_view
from svm_robot.data.labels import FILE, LabelLog
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout import Outcome


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("view") / "d"
    record_toy(root, "sfs", max_steps=4)
    return root


@pytest.fixture
def root(recorded: Path) -> Path:
    """The same recording with the log as it was recorded."""
    log = recorded / FILE
    kept = recorded.with_name("log")
    if not kept.exists():
        kept.write_bytes(log.read_bytes())
    log.write_bytes(kept.read_bytes())
    return recorded


def test_the_view_names_each_episode_and_what_counts(root: Path) -> None:
    log, view = LabelLog(root), read_view(root)
    log.append(view.episode(1).uid, Outcome.UNSURE, "ada", "behind the arm", ["hidden"])
    view = read_view(root)
    assert [(episode.index, episode.length, episode.history) for episode in view.episodes] == [
        (0, 4, 1),
        (1, 4, 2),
        (2, 4, 1),
    ]
    label = view.episode(1).label
    assert label is not None and (label.by, label.tags) == ("ada", ("hidden",))
    assert [episode.index for episode in view.only(["unsure"])] == [1]
    assert view.counts["unsure"] == 1


def test_its_snapshot_is_the_one_that_training_names(root: Path) -> None:
    log, view = LabelLog(root), read_view(root)
    assert view.snapshot == load_dataset(root, frames=False).label_hash
    log.append(4711, Outcome.SUCCESS, "ada")  # an episode that is not here
    after = read_view(root)
    assert after.snapshot == view.snapshot == load_dataset(root, frames=False).label_hash
    assert [stray.episode_uid for stray in after.strays] == [4711]
    log.undo(4711, "ada")
    assert read_view(root).strays == []
    log.append(view.episode(0).uid, Outcome.ABORTED, "ada")
    assert read_view(root).snapshot == load_dataset(root, frames=False).label_hash != view.snapshot


def test_without_a_log_only_recorded_successes_are_known(root: Path) -> None:
    (root / FILE).unlink()
    view = read_view(root)
    assert view.counts["unlabelled"] + view.counts["success"] == 3
    assert view.snapshot == load_dataset(root, frames=False).label_hash
    assert all(episode.label is None and episode.history == 0 for episode in view.episodes)


def test_an_episode_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(DataError, match="there is no episode 3; the dataset has 0 to 2"):
        read_view(root).episode(3)
    with pytest.raises(DataError, match="no episode -1"):
        read_view(root).episode(-1)


def test_datasets_from_elsewhere_are_named_by_index_and_read_by_their_own_success_column(root: Path) -> None:
    copy = shutil.copytree(root, root.with_name("foreign"))
    info = json.loads((copy / "meta/info.json").read_text())
    del info["features"]["svm.episode_uid"]
    (copy / "meta/info.json").write_text(json.dumps(info))
    (copy / FILE).unlink()
    succeeded = [episode.outcome is Outcome.SUCCESS for episode in read_view(root).episodes]
    view = read_view(copy)
    assert [episode.uid for episode in view.episodes] == [0, 1, 2]
    assert [episode.outcome for episode in view.episodes] == [
        Outcome.SUCCESS if success else Outcome.FAILURE for success in succeeded
    ]
    assert view.snapshot == load_dataset(copy, frames=False).label_hash
    LabelLog(copy).set(1, Outcome.ABORTED, "ada")
    assert (read_view(copy).episode(1).kind, read_view(copy).episode(1).recorded) == (
        "aborted",
        view.episode(1).outcome,
    )


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("3", (3,)), ("3,5-7", (3, 5, 6, 7)), (" 1 , 1, 0-1", (1, 0)), ("-1", (-1,)), ("4-4", (4,))],
)
def test_episodes_on_the_command_line(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_episodes(text) == numbers


@pytest.mark.parametrize("text", ["", "three", "1,", "7-5", "1-2-3", "0.5", "1 2", "0-99999999999"])
def test_what_names_no_episodes(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_episodes(text)


def test_kinds_on_the_command_line() -> None:
    assert parse_kinds("Unsure, unlabelled") == ("unsure", "unlabelled")
    for text in ("", ",", "good", "success;failure"):
        with pytest.raises(ConfigError, match="success, failure, unsure, aborted, unlabelled"):
            parse_kinds(text)
