"""What was trained from labels that have changed since is called stale, and the episodes are named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.journal import Journal
from svm_robot.data.label_view import read_view
from svm_robot.data.labels import FILE, LabelLog
from svm_robot.data.provenance import Derivation, Origin, Provenance, write_provenance
from svm_robot.data.staleness import (
    OFFLINE,
    State,
    Trained,
    Verdict,
    compare,
    earlier,
    read_trained,
    trained_on,
    warnings,
)
from svm_robot.errors import CheckpointError
from svm_robot.rollout import Outcome


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The episodes of the case: success, success, failure, failure, unsure, success."""
    root = tmp_path / "d"
    record_toy(root, "ssffss", max_steps=4)
    view = read_view(root)
    for index, outcome in enumerate(("success", "success", "failure", "failure", "unsure", "success")):
        LabelLog(root).append(view.episode(index).uid, Outcome(outcome), "judge")
    return root


@pytest.fixture
def said(root: Path) -> Callable[[], Verdict]:
    """What is said now of a reward fitted at the beginning."""
    fitted = trained_on(load_dataset(root, frames=False))
    trained = Trained("r", "reward", fitted["dataset_id"], fitted["label_hash"])
    return lambda: compare([trained], load_dataset(root, frames=False))[0]


def label(root: Path, index: int, outcome: Outcome) -> None:
    LabelLog(root).set(read_view(root).episode(index).uid, outcome, "ada")


def test_a_change_makes_stale_and_its_return_makes_current_again(root: Path, said: Callable[[], Verdict]) -> None:
    assert (said().state, said().changed) == (State.CURRENT, ())
    label(root, 2, Outcome.SUCCESS)
    assert (said().state, said().changed) == (State.STALE, (2,))
    assert "1 labels have changed since it was trained (episode 2: failure -> success)" in said().text
    label(root, 2, Outcome.FAILURE)
    assert said().state is State.CURRENT
    LabelLog(root).set(read_view(root).episode(2).uid, Outcome.FAILURE, "ada", "sure now", ["slip"])
    assert said().state is State.CURRENT, "reasons and tags train nothing"


def test_an_undo_after_the_training_is_a_change(root: Path, said: Callable[[], Verdict]) -> None:
    uid = read_view(root).episode(2).uid
    LabelLog(root).undo(uid, "ada")
    assert (said().state, said().changed) == (State.CURRENT, ()), "the recorder had said failure too"
    LabelLog(root).undo(uid, "ada")
    assert "episode 2: failure -> unlabelled" in said().text


def test_several_changes_by_several_people_are_all_found(root: Path, said: Callable[[], Verdict]) -> None:
    for index, outcome in ((0, Outcome.FAILURE), (4, Outcome.SUCCESS), (0, Outcome.ABORTED), (3, Outcome.UNSURE)):
        label(root, index, outcome)
    LabelLog(root).undo(read_view(root).episode(3).uid, "bob")
    LabelLog(root).append(12345, Outcome.SUCCESS, "ada")  # somebody else's episode
    assert said().changed == (0, 4)
    assert "episode 0: success -> aborted, episode 4: unsure -> success" in said().text


def test_episodes_added_since_make_nothing_stale(root: Path, said: Callable[[], Verdict]) -> None:
    record_toy(root, "s", max_steps=4, seed=50)
    assert (said().state, said().newer) == (State.CURRENT, 1)
    assert "1 of 7 episodes were added since" in said().text
    label(root, 6, Outcome.FAILURE)
    assert said().state is State.CURRENT, "it never saw that one"
    label(root, 5, Outcome.FAILURE)
    assert (said().state, said().changed) == (State.STALE, (5,))


def test_labels_that_no_log_remembers(root: Path, said: Callable[[], Verdict]) -> None:
    view = read_view(root)
    said()
    (root / FILE).unlink()
    LabelLog(root).append(view.episode(0).uid, Outcome.ABORTED, "ada")
    assert said().state is State.STALE
    assert "not in the history of this log" in said().text


def test_other_data_and_unnamed_labels_are_not_called_stale(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    record_toy(other, "s", max_steps=4, seed=9)
    mine, theirs = (load_dataset(path, frames=False) for path in (root, other))
    stranger = Trained("p", "policy", theirs.fingerprint, theirs.label_hash)
    found = compare([stranger, Trained("q", "policy")], mine)
    assert [verdict.state for verdict in found] == [State.OTHER, State.UNNAMED]
    assert warnings([stranger, Trained("q", "policy")], mine) == []
    origin = Origin("other", theirs.fingerprint, 1)
    write_provenance(Provenance(derived=(Derivation("svm-robot data merge", "1", (origin,), 0.0),)), root)
    assert (
        "trained on other, which this dataset was made from (svm-robot data merge)" in compare([stranger], mine)[0].text
    )


def test_the_log_read_backwards_is_the_log_as_it_was(root: Path) -> None:
    """Every state the log has ever been in, found again from its end."""
    log, uid = LabelLog(root), read_view(root).episode(1).uid
    states = [read_view(root)]
    for step in ("failure", "undo", "unsure", "success", "undo", "undo"):
        if step == "undo":
            log.undo(uid, "ada")
        else:
            log.set(uid, Outcome(step), "ada")
        states.append(read_view(root))
    log.append(99, Outcome.SUCCESS, "ada")
    past = earlier(read_view(root), log.entries(), 6)
    expected = [{episode.uid: episode.outcome for episode in view.episodes} for view in reversed(states[:-1])]
    assert [found for found, _ in zip(past, expected, strict=False)] == expected


def test_models_and_runs_name_their_labels(tmp_path: Path, root: Path) -> None:
    noted = trained_on(load_dataset(root, frames=False))
    for name, kind in (("reward", "svm"), ("policy", "svm_flow"), ("foreign", "act")):
        (tmp_path / name).mkdir()
        named = {} if name == "foreign" else noted
        (tmp_path / name / "config.json").write_text(json.dumps({"type": kind, **named}))
    Journal(tmp_path / "run").write("run", **{OFFLINE: noted})
    Journal(tmp_path / "run").write("run")  # it was resumed, without looking at the data again
    Journal(tmp_path / "old").write("run", verb="finetune")
    found = {name: read_trained(tmp_path / name) for name in ("reward", "policy", "foreign", "run", "old")}
    assert {name: one.what for name, one in found.items()} == {
        "reward": "reward", "policy": "policy", "foreign": "policy", "run": "run", "old": "run",
    }  # fmt: skip
    assert [name for name, one in found.items() if one.label_hash] == ["reward", "policy", "run"]
    label(root, 0, Outcome.FAILURE)
    told = warnings(found.values(), load_dataset(root, frames=False))
    assert len(told) == 3
    assert "fit-reward" in told[0] and "pretrain" in told[1] and "keeps the labels it began with" in told[2]


@pytest.mark.parametrize("content", ["{", "[]", "\xff"])
def test_a_damaged_model_is_named(tmp_path: Path, content: str) -> None:
    with pytest.raises(CheckpointError, match="neither a model"):
        read_trained(tmp_path)
    (tmp_path / "config.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(CheckpointError, match=r"config\.json is"):
        read_trained(tmp_path)
