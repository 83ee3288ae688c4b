"""The label log keeps everything that was said, and the current view is the last word."""

import hashlib
import subprocess
import sys

import pytest
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.labels import FILE, LabelLog, episode_uids, snapshot_hash
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


def test_a_torn_last_line_is_no_label_and_is_replaced(log):
    log.append(1, Outcome.SUCCESS, "a")
    with log.path.open("a") as file:
        file.write('{"version": 1, "episode_uid": 2, "outc')
    assert [label.episode_uid for label in log.entries()] == [1]
    log.append(3, Outcome.FAILURE, "a")
    assert [label.episode_uid for label in log.entries()] == [1, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "line 1: not a label"),
        ('{"version": 9, "episode_uid": 1}', "line 1: version 9, this tool reads 1"),
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
