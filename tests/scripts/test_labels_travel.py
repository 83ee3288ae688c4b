"""A label changed after the fact: history, hash, staleness, renumbering, and the recorded files untouched."""

import hashlib
from pathlib import Path

import pytest
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.labels import FILE, LabelLog
from svm_robot.data.staleness import State, Trained, Verdict, compare
from svm_robot.rollout import Outcome
from svm_robot.scripts.main import main

SAID = ("success", "success", "failure", "failure", "unsure", "success")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six episodes labelled as ``SAID``, whose third one was called a success for a while."""
    root = tmp_path / "d"
    record_toy(root, "ssffff", max_steps=3)
    assert main(["label", str(root), "--episode=0,1,5", "--set=success"]) == 0
    assert main(["label", str(root), "--episode=4", "--set=unsure", "--tags=hidden"]) == 0
    assert main(["label", str(root), "--episode=2", "--set=success", "--by=ada", "--reason=looked again"]) == 0
    assert main(["label", str(root), "--episode=2", "--set=failure", "--by=bob"]) == 0
    return root


def verdict(trained: Trained, root: Path) -> Verdict:
    return compare([trained], load_dataset(root, frames=False))[0]


def digests(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file() and path.name != FILE)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_labels_follow_their_episodes_through_delete_merge_and_split(root: Path, tmp_path: Path) -> None:
    before, uids = digests(root), [episode.uid for episode in read_view(root).episodes]
    now = load_dataset(root, frames=False)
    trained = Trained("r", "reward", now.fingerprint, now.label_hash)

    fewer = tmp_path / "fewer"
    assert main(["data", "delete", str(root), "--episodes=1", f"--out={fewer}"]) == 0
    view = read_view(fewer)
    assert [episode.kind for episode in view.episodes] == [kind for n, kind in enumerate(SAID) if n != 1]
    assert [episode.uid for episode in view.episodes] == [uid for n, uid in enumerate(uids) if n != 1]
    assert [label.by for label in LabelLog(fewer).history(uids[2])] == ["judge", "ada", "bob"]
    found = view.episode(3).label
    assert found is not None and found.tags == ("hidden",)
    assert verdict(trained, fewer).state is State.OTHER
    assert "which this dataset was made from (svm-robot data delete)" in verdict(trained, fewer).text
    assert verdict(trained, root).state is State.CURRENT

    assert main(["label", str(fewer), "undo", "--episode=1"]) == 0
    assert read_view(fewer).episode(1).kind == "success", "its history came along, so it can be undone here"
    assert read_view(root).episode(2).kind == "failure", "and not there"

    other, both = tmp_path / "other", tmp_path / "both"
    record_toy(other, "f", max_steps=3, seed=70)
    assert main(["data", "merge", str(fewer), str(other), f"--out={both}"]) == 0
    kinds = [episode.kind for episode in read_view(both).episodes]
    assert kinds == ["success", "success", "failure", "unsure", "success", "failure"]
    assert len(LabelLog(both).history(uids[2])) == 4
    assert main(["data", "split", str(both), "--episodes=a:1,4,b:3", f"--out={tmp_path / 'parts'}"]) == 0
    assert [episode.uid for episode in read_view(tmp_path / "parts" / "a").episodes] == [uids[2], uids[5]]
    assert len(LabelLog(tmp_path / "parts" / "a").history(uids[2])) == 4
    assert [episode.kind for episode in read_view(tmp_path / "parts" / "b").episodes] == ["unsure"]
    assert digests(root) == before, "what was recorded is as it was"


def test_the_hash_changes_and_returns_and_so_does_staleness(root: Path) -> None:
    before, first = digests(root), load_dataset(root, frames=False)
    trained = Trained("r", "reward", first.fingerprint, first.label_hash)
    hashes = []
    for outcome in (Outcome.SUCCESS, Outcome.FAILURE):
        assert main(["label", str(root), "--episode=2", f"--set={outcome}"]) == 0
        hashes.append(load_dataset(root, frames=False).label_hash)
    assert hashes[0] != first.label_hash == hashes[1]
    assert verdict(trained, root).state is State.CURRENT
    assert len(LabelLog(root).history(read_view(root).episode(2).uid)) == 5
    assert digests(root) == before
