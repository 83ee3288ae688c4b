"""``svm-robot label`` as a person types it, mistakes included."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from recordings import labels_restored, record_toy

from svm_robot.data import load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.labels import FILE, LabelLog
from svm_robot.data.staleness import trained_on
from svm_robot.rollout import Outcome
from svm_robot.scripts.main import main


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("label") / "d"
    record_toy(root, "ffffff", max_steps=3)
    return root


@pytest.fixture
def root(recorded: Path) -> Iterator[Path]:
    yield from labels_restored(recorded)


@pytest.fixture
def label(root: Path, capsys: pytest.CaptureFixture[str]):
    def call(*words: object, code: int = 0) -> str:
        assert main(["label", str(root), *map(str, words)]) == code
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.out + printed.err

    return call


def kinds(root: Path) -> list[str]:
    return [episode.kind for episode in read_view(root).episodes]


def test_several_episodes_are_labelled_at_once(root: Path, label) -> None:
    said = label("--episode=1,3-4", "--set=success", "--reason=note: all good", "--tags=slip, late", "--by=ada")
    assert said.splitlines() == [f"episode {index}: failure -> success" for index in (1, 3, 4)]
    assert kinds(root) == ["failure", "success", "failure", "success", "success", "failure"]
    found = read_view(root).episode(3).label
    assert found is not None
    assert (found.reason, found.tags, found.by) == ("note: all good", ("slip", "late"), "ada")
    label("--episode=3", "--set=unsure")
    assert read_view(root).episode(3).label.tags == ("slip", "late"), "tags stay when left out"
    label("--episode=3", "--set=unsure", "--tags=")
    assert read_view(root).episode(3).label.tags == ()


def test_words_that_yaml_would_read_as_something_else_stay_words(root: Path, label) -> None:
    for reason in ("yes", "null", "#3", "[x]", "- a", "1e3", "a: b"):
        label("--episode=0", "--set=failure", f"--reason={reason}")
        assert read_view(root).episode(0).label.reason == reason
    label("--episode", "0", "--set", "failure", "--reason", "a: b, in two words")
    assert read_view(root).episode(0).label.reason == "a: b, in two words"


def test_one_wrong_number_labels_none_of_them(root: Path, label) -> None:
    before = (root / FILE).read_bytes()
    assert "there is no episode 6" in label("--episode=1,6", "--set=success", code=3)
    assert (root / FILE).read_bytes() == before


def test_the_list_can_be_filtered_and_read_by_programs(root: Path, label) -> None:
    label("--episode=2", "--set=unsure", "--tags=hidden")
    LabelLog(root).undo(read_view(root).episode(4).uid, "ada")
    LabelLog(root).append(4711, Outcome.SUCCESS, "ada")
    listed = label("--only=unsure,unlabelled").splitlines()
    assert [line.split()[:2] for line in listed[:2]] == [["2", "unsure"], ["4", "unlabelled"]]
    assert listed[0].endswith("[hidden]")
    assert listed[2] == "6 episodes: 4 failure, 1 unsure, 1 unlabelled"
    assert listed[3] == "1 labels of episodes that are not in this dataset are kept (uid 4711)"
    assert listed[4] == f"label snapshot {load_dataset(root, frames=False).label_hash}"
    values = json.loads(label("--only=unlabelled", "--json"))
    assert [(entry["episode"], entry["outcome"], entry["history"]) for entry in values["episodes"]] == [(4, None, 2)]
    assert (values["strays"], values["counts"]["unsure"]) == ([4711], 1)


def test_undo_and_history(root: Path, label) -> None:
    label("--episode=0-1", "--set=success", "--by=ada")
    said = label("undo", "--episode=0,1", "--reason=wrong key")
    assert said.splitlines()[1] == "episode 1: success taken back -> failure"
    history = label("history", "--episode=1").splitlines()
    assert len(history) == 3
    assert "taken back" in history[2] and history[2].endswith("(wrong key)")
    assert json.loads(label("history", "--episode=1", "--json"))[2]["undo"] is True
    label("undo", "--episode=0")
    before = (root / FILE).read_bytes()
    assert "episode 0 has no label that could be taken back" in label("undo", "--episode=0-2", code=3)
    assert (root / FILE).read_bytes() == before, "all of them or none"
    assert kinds(root)[:2] == ["unlabelled", "failure"]


def test_an_import_is_checked_tried_and_done_once(root: Path, label, tmp_path: Path) -> None:
    table, before = tmp_path / "labels.csv", (root / FILE).read_bytes()
    table.write_text("episode,outcome,tags\n0,success,slip\n1,failure,\n7,success,\n")
    said = label("import", table, code=3)
    assert f"{table}, line 4: there is no episode 7" in said and "nothing was imported" in said
    table.write_text("episode,outcome,tags\n0,success,slip\n1,failure,\n")
    said = label("import", table, "--dry-run")
    assert "episode 0: failure -> success  tags slip" in said
    assert "1 labels would be given (nothing was changed), 1 were so already" in said
    assert (root / FILE).read_bytes() == before
    assert "1 labels given, 1 were so already" in label("import", table, "--by=ada")
    assert read_view(root).episode(0).label.by == "ada"
    once = (root / FILE).read_bytes()
    assert "0 labels given, 2 were so already" in label("import", table)
    assert (root / FILE).read_bytes() == once


def test_what_the_list_prints_can_be_carried_to_a_copy(root: Path, label, tmp_path: Path) -> None:
    label("--episode=3", "--set=success", "--tags=slip", "--reason=it did")
    dump = tmp_path / "dump.json"
    dump.write_text(label("--json"))
    label("undo", "--episode=3")
    label("import", dump)
    found = read_view(root).episode(3).label
    assert (found.outcome, found.tags, found.reason) == ("success", ("slip",), "it did")


def test_models_and_runs_are_told_stale(root: Path, label, tmp_path: Path) -> None:
    reward = tmp_path / "reward"
    reward.mkdir()
    noted = trained_on(load_dataset(root, frames=False))
    (reward / "config.json").write_text(json.dumps({"type": "svm", **noted}))
    assert ": current: no label has changed" in label("stale", reward)
    label("--episode=2", "--set=success")
    said = label("stale", reward, code=3)
    assert ": stale: 1 labels have changed since it was trained (episode 2: failure -> success)" in said
    label("undo", "--episode=2")
    assert json.loads(label("stale", reward, "--json"))[0]["state"] == "current"
    assert "holds neither a model" in label("stale", tmp_path, code=4)


def test_nothing_here_touches_what_was_recorded(root: Path, label) -> None:
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != FILE]
    before = [hashlib.sha256(path.read_bytes()).digest() for path in files]
    label("--episode=0-5", "--set=success")
    label("undo", "--episode=0-5")
    assert [hashlib.sha256(path.read_bytes()).digest() for path in files] == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["reviews"], 2, "'reviews' is nothing to do with labels; there are: review, undo"),
        (["undo"], 2, "which episode? svm-robot label DATASET undo --episode=3"),
        (["history", "3"], 2, "which episode? svm-robot label DATASET history --episode=3"),
        (["import"], 2, "expected:"),
        (["import", "a.csv", "b.csv"], 2, "expected:"),
        (["import", "none.csv"], 1, "No such file"),
        (["import", "labels.xlsx"], 2, ".csv, .tsv or .json"),
        (["stale"], 2, "expected:"),
        (["review", "--set=failure"], 2, "--set means nothing with 'review', but with --set"),
        (["--todo-first"], 2, "--todo-first means nothing with 'label', but with review"),
        (["--dry-run"], 2, "but with import"),
        (["--episode=1", "--set=failure", "--only=unsure"], 2, "--only and --json show"),
        (["--episode=one", "--set=failure"], 2, "'one' names no episodes; write 3, or 3,5-7"),
        (["--only=bad"], 2, "'bad' is not one of success, failure"),
        (["--tags=x"], 2, "belong to a new label"),
        (["review", "--only=aborted"], 3, "there is nothing to review"),
        (["review"], 2, "standard output is no terminal. Run this in a terminal (over SSH: ssh -t)"),
    ],
)
def test_mistakes_are_told_and_change_nothing(root: Path, label, words: list[str], code: int, message: str) -> None:
    before = (root / FILE).read_bytes()
    said = label(*words, code=code)
    assert message in said
    assert said.count("\n") == 1
    assert (root / FILE).read_bytes() == before
