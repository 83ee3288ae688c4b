"""The label log keeps everything that was said, and the current view is the last word."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.labels import FILE, Draft, Label, LabelLog, episode_uids, parse_line, snapshot_hash, to_line
from svm_robot.errors import DataError
from svm_robot.rollout import Outcome

APPENDS = """
import sys
from pathlib import Path
from svm_robot.data.labels import LabelLog
log = LabelLog(Path(sys.argv[1]))
for number in range(40):
    log.append(number, "success", sys.argv[2], "x" * 300)
"""


@pytest.fixture
def log(tmp_path):
    ticks = iter(range(1000, 2000))
    return LabelLog(tmp_path, clock=lambda: float(next(ticks)))


def test_the_last_word_counts_and_the_history_stays(log):
    for outcome in ("success", "failure", "success"):
        log.append(2, Outcome(outcome), "ada", "looked again")
    log.append(3, Outcome.UNSURE, "judge")
    assert {uid: label.outcome for uid, label in log.current().items()} == {2: "success", 3: "unsure"}
    history = log.history(2)
    assert [label.outcome for label in history] == ["success", "failure", "success"]
    assert [label.time for label in history] == [1000.0, 1001.0, 1002.0]
    assert (history[0].by, history[0].reason, log.history(3)[0].reason) == ("ada", "looked again", None)


def test_a_reason_may_hold_any_character(log):
    reason = "line\u2028separator, next\x85line, \n and \u00fc"
    log.append(2, Outcome.SUCCESS, "ada", reason)
    assert [label.reason for label in log.history(2)] == [reason]


def test_the_snapshot_hash_changes_with_a_label_and_comes_back(log):
    log.append(1, Outcome.SUCCESS, "a")
    first = log.snapshot_hash()
    log.append(1, Outcome.FAILURE, "a")
    assert log.snapshot_hash() != first
    log.append(1, Outcome.SUCCESS, "b")
    assert log.snapshot_hash() == first


def test_the_hash_ignores_order_and_unlabelled_episodes():
    one = snapshot_hash({1: Outcome.SUCCESS, 2: Outcome.FAILURE, 3: None})
    assert one == snapshot_hash({2: Outcome.FAILURE, 1: Outcome.SUCCESS})
    assert one != snapshot_hash({1: Outcome.FAILURE, 2: Outcome.SUCCESS})


def test_two_writers_at_once_are_both_kept(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", APPENDS, str(tmp_path), name]) for name in ("ada", "bob")]
    assert [writer.wait() for writer in writers] == [0, 0]
    entries = LabelLog(tmp_path).entries()
    for name in ("ada", "bob"):
        assert [label.episode_uid for label in entries if label.by == name] == list(range(40))


def test_an_undo_takes_back_the_last_word_and_stays_in_the_history(log):
    log.append(2, Outcome.FAILURE, "ada", tags=["slip"])
    log.append(2, Outcome.SUCCESS, "bob")
    assert log.undo(2, "ada", "wrong key").outcome == "success"
    assert (log.current()[2].outcome, log.current()[2].tags) == ("failure", ("slip",))
    assert log.undo(2, "ada").by == "ada"
    assert log.current() == {}
    last = log.history(2)[2]
    assert (len(log.history(2)), last.undo, last.outcome, last.reason) == (4, True, "success", "wrong key")
    before = log.path.read_bytes()
    with pytest.raises(DataError, match="uid 2 has no label that could be taken back"):
        log.undo(2, "ada")
    with pytest.raises(DataError, match="uid 3 has no label"):
        log.undo(3, "ada")
    assert log.path.read_bytes() == before


def test_an_undone_episode_of_our_own_is_unlabelled_even_where_its_columns_say_success(tmp_path):
    root = tmp_path / "d"
    record_toy(root, "sf")
    uids = {index: uid for uid, index in episode_uids(root).items()}
    LabelLog(root).undo(uids[1], "ada")
    assert load_dataset(root, frames=False).episodes[1].outcome is None


def test_tags_and_reasons_change_no_hash_undo_returns_it(log):
    log.append(1, Outcome.SUCCESS, "a")
    first = log.snapshot_hash()
    log.append(1, Outcome.SUCCESS, "b", "looked again", ["late"])
    assert log.snapshot_hash() == first
    log.append(1, Outcome.FAILURE, "b")
    assert log.snapshot_hash() != first
    log.undo(1, "b")
    assert log.snapshot_hash() == first


def test_a_log_of_the_first_version_still_reads_and_goes_on(log):
    old = {"episode_uid": 5, "outcome": "failure", "by": "judge", "time": 1.5, "reason": None, "tool": "0.1"}
    log.path.write_text(json.dumps({**old, "version": 1}) + "\n")
    assert log.current()[5] == Label(5, Outcome.FAILURE, "judge", 1.5, None, "0.1", version=1)
    assert log.undo(5, "ada").by == "judge"
    assert log.current() == {}


def test_a_line_reads_back_as_it_was_written():
    label = Label(5, Outcome.UNSURE, "J\u00f6rg", 1.5, "a\nb", tags=("slip", "zu sp\u00e4t"), undo=True)
    assert parse_line(to_line(label)) == label


def test_two_undos_at_once_take_back_two_labels(log, tmp_path):
    for _ in range(12):
        log.append(0, Outcome.SUCCESS, "ada")
    script = """
import sys
from pathlib import Path
from svm_robot.data.labels import LabelLog
for _ in range(5):
    LabelLog(Path(sys.argv[1])).undo(0, "x")
"""
    children = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    log.undo(0, "ada")
    log.undo(0, "ada")
    with pytest.raises(DataError, match="no label"):
        log.undo(0, "ada")


def test_a_label_given_while_the_dataset_is_rebuilt_lands_in_the_new_one(log, monkeypatch):
    """The log that was opened has been replaced by the time the lock is held."""
    from svm_robot.data import labels

    log.append(1, Outcome.SUCCESS, "ada")
    real = labels.fcntl.flock

    def swapped(handle, how):
        monkeypatch.setattr(labels.fcntl, "flock", real)
        fresh = log.path.with_name("fresh")
        fresh.write_bytes(log.path.read_bytes())
        fresh.replace(log.path)
        real(handle, how)

    monkeypatch.setattr(labels.fcntl, "flock", swapped)
    log.append(2, Outcome.FAILURE, "ada")
    assert [label.episode_uid for label in log.entries()] == [1, 2]


@pytest.mark.parametrize("fault", ["write", "fsync"])
def test_a_full_disk_costs_no_label_that_was_there(log, monkeypatch, fault):
    log.append(1, Outcome.SUCCESS, "ada")
    before, real = log.path.read_bytes(), os.write

    def full(handle, data=b""):
        if fault == "write" and len(data) > 20:
            return real(handle, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, fault, full)
    with pytest.raises(OSError, match="No space left"):
        log.append(2, Outcome.FAILURE, "ada")
    monkeypatch.undo()
    assert log.path.read_bytes() == before


def test_several_labels_are_written_together_or_not_at_all(tmp_path):
    root = tmp_path / "d"
    record_toy(root, "sf")
    uids = {index: uid for uid, index in episode_uids(root).items()}
    log, before = LabelLog(root), (root / FILE).read_bytes()
    with pytest.raises(DataError, match="no episode with uid 12"):
        log.set_all([Draft(uids[0], Outcome.FAILURE), Draft(12, Outcome.SUCCESS)], "ada")
    assert (root / FILE).read_bytes() == before
    log.set_all([Draft(uids[0], Outcome.FAILURE, "why", ("slip",)), Draft(uids[1], Outcome.UNSURE, by="bob")], "ada")
    assert [(label.outcome, label.by, label.tags) for label in log.entries()[2:]] == [
        ("failure", "ada", ("slip",)),
        ("unsure", "bob", ()),
    ]


def test_a_torn_last_line_is_no_label_and_is_replaced(log):
    log.append(1, Outcome.SUCCESS, "a")
    with log.path.open("a") as file:
        file.write('{"version": 1, "episode_uid": 2, "outc')
    assert [label.episode_uid for label in log.entries()] == [1]
    log.append(3, Outcome.FAILURE, "a")
    assert [label.episode_uid for label in log.entries()] == [1, 3]


def test_a_line_torn_within_a_letter_is_no_label(log):
    log.append(1, Outcome.SUCCESS, "a")
    with log.path.open("ab") as file:
        file.write('{"version": 2, "reason": "\u00fc'.encode()[:-1])
    assert [label.episode_uid for label in log.entries()] == [1]


def test_a_whole_last_line_without_a_line_break_is_kept(log):
    """An editor may save it so; a label that can be read is never cut off."""
    log.append(1, Outcome.SUCCESS, "a")
    log.path.write_bytes(log.path.read_bytes().rstrip())
    assert [label.episode_uid for label in log.entries()] == [1]
    log.append(3, Outcome.FAILURE, "a")
    assert [label.episode_uid for label in log.entries()] == [1, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "line 1: not a label"),
        ('{"version": 9, "episode_uid": 1}', "line 1: version 9, this tool reads 1 and 2"),
        ('{"version": 1, "episode_uid": 1, "outcome": "great", "by": "a", "time": 0}', "line 1: not a label"),
    ],
)
def test_a_damaged_line_is_named(log, line, message):
    log.path.write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        log.current()


def test_an_unknown_episode_is_refused_and_nothing_written(tmp_path):
    root = tmp_path / "d"
    record_toy(root, "sf")
    before = (root / FILE).read_bytes()
    with pytest.raises(DataError, match="no episode with uid 12; it has 2 episodes"):
        LabelLog(root).set(12, Outcome.SUCCESS, "ada")
    assert (root / FILE).read_bytes() == before
    with pytest.raises(DataError, match="no dataset at"):
        LabelLog(tmp_path / "none").append(1, Outcome.SUCCESS, "ada")
    assert not (tmp_path / "none").exists()


def test_a_relabelled_dataset_reads_the_new_outcome_and_its_data_files_stay(tmp_path):
    root = tmp_path / "d"
    record_toy(root, "sf")
    files = [path for path in root.rglob("*") if path.is_file() and path.name != FILE]
    before = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    old = load_dataset(root, frames=False)
    uids = {index: uid for uid, index in episode_uids(root).items()}
    assert uids == {episode.index: episode.uid for episode in old.episodes}
    LabelLog(root).set(uids[0], Outcome.FAILURE, "ada", "fell over afterwards")
    new = load_dataset(root, frames=False)
    assert [episode.outcome for episode in new.episodes] == [Outcome.FAILURE, Outcome.FAILURE]
    assert not new.episodes[0].terminated
    assert (new.label_hash == old.label_hash, new.fingerprint == old.fingerprint) == (False, True)
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in files] == before


def test_an_episode_that_lost_its_label_is_unlabelled_unless_it_succeeded(tmp_path):
    root = tmp_path / "d"
    record_toy(root, "sf")
    (root / FILE).unlink()
    assert [episode.outcome for episode in load_dataset(root, frames=False).episodes] == [Outcome.SUCCESS, None]
