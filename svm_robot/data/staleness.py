"""Whether the labels that something was trained from are still the labels of the dataset.

Policies and rewards name the fingerprint of their data and the hash of its labels in ``config.json``, runs in the event
that begins their journal. The log keeps everything that was said, so the day of the training is found in it again, and
with it the episodes whose labels have changed since. Nothing that was trained learns of a change by itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from svm_robot.data import journal
from svm_robot.data.dataset import Dataset, fingerprints
from svm_robot.data.label_view import UNLABELLED, LabelView, read_view
from svm_robot.data.labels import Label, LabelLog, snapshot_hash
from svm_robot.data.model_folder import CONFIG
from svm_robot.data.provenance import read_provenance
from svm_robot.errors import CheckpointError
from svm_robot.rollout.episode import Outcome

OFFLINE = "offline_data"
"""Field of a run's first event: what ``trained_on`` gives."""


class State(StrEnum):
    """What a training and a dataset have to do with each other."""

    CURRENT = "current"
    STALE = "stale"
    OTHER = "other data"
    UNNAMED = "unknown"


@dataclass(frozen=True)
class Trained:
    """What a policy, a reward or a run says about its data."""

    name: str
    what: str
    """``policy``, ``reward`` or ``run``."""
    dataset_id: str = ""
    label_hash: str = ""


@dataclass(frozen=True)
class Verdict:
    """One of them beside one dataset."""

    trained: Trained
    state: State
    text: str
    """Why, in words."""
    changed: tuple[int, ...] = ()
    """Numbers of the episodes whose labels have changed since."""
    newer: int = 0
    """Episodes that were added since, which it has not seen."""

    def __str__(self) -> str:
        return f"{self.trained.what} {self.trained.name}: {self.state}: {self.text}"


def trained_on(dataset: Dataset) -> dict[str, str]:
    """What a run notes of a dataset it takes in."""
    return {"dataset": dataset.root.name, "dataset_id": dataset.fingerprint, "label_hash": dataset.label_hash}


def read_trained(path: Path) -> Trained:
    """What the model or run in a folder was trained on. Raises ``CheckpointError`` when it holds neither."""
    if (path / journal.FILE).is_file():
        events = journal.read_journal(path, "run")
        noted = events[0].get(OFFLINE) if events else None
        return named(str(path), "run", noted if isinstance(noted, dict) else {})
    if not (path / CONFIG).is_file():
        raise CheckpointError(f"{path} holds neither a model ({CONFIG}) nor a run ({journal.FILE})")
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path / CONFIG} is damaged ({error})") from error
    if not isinstance(config, dict):
        raise CheckpointError(f"{path / CONFIG} is no configuration of a model")
    return named(str(path), "reward" if config.get("type") == "svm" else "policy", config)


def named(name: str, what: str, fields: Mapping[str, Any]) -> Trained:
    """From the fields ``dataset_id`` and ``label_hash``, where there are such."""
    return Trained(name, what, str(fields.get("dataset_id") or ""), str(fields.get("label_hash") or ""))


def compare(trained: Iterable[Trained], dataset: Dataset) -> list[Verdict]:
    """What the labels of ``dataset`` mean for each of them. Pictures are not needed."""
    view, entries = read_view(dataset.root), LabelLog(dataset.root).entries()
    prefixes = {fingerprint: seen for seen, fingerprint in enumerate(fingerprints(dataset.episodes))}
    return [judge(one, view, entries, prefixes) for one in trained]


def judge(trained: Trained, view: LabelView, entries: list[Label], prefixes: Mapping[str, int]) -> Verdict:
    """One of them; ``prefixes``: fingerprint -> of how many first episodes it is the hash."""
    if not trained.label_hash or not trained.dataset_id:
        return Verdict(trained, State.UNNAMED, "it names no labels it was trained from")
    seen = prefixes.get(trained.dataset_id)
    if seen is None:
        return Verdict(trained, State.OTHER, elsewhere(trained, view.root))
    newer = len(view.episodes) - seen
    added = f"; {newer} of {len(view.episodes)} episodes were added since" if newer else ""
    now = {episode.uid: episode.outcome for episode in view.episodes[:seen]}
    if snapshot_hash(now) == trained.label_hash:
        return Verdict(trained, State.CURRENT, f"no label has changed since it was trained{added}", newer=newer)
    then = next((past for past in earlier(view, entries, seen) if snapshot_hash(past) == trained.label_hash), None)
    if then is None:
        text = f"its labels {trained.label_hash} are not in the history of this log{added}"
        return Verdict(trained, State.STALE, text, newer=newer)
    changed = tuple(e.index for e in view.episodes[:seen] if then[e.uid] != e.outcome)
    return Verdict(trained, State.STALE, f"{in_words(view, then, changed)}{added}", changed, newer)


def elsewhere(trained: Trained, root: Path) -> str:
    """Other data; of a dataset that this one was made from it is said by name."""
    for step in read_provenance(root).derived:
        for source in step.sources:
            if source.fingerprint == trained.dataset_id:
                return (
                    f"it was trained on {source.name}, which this dataset was made from ({step.tool}); train it again"
                )
    return "it was trained on episodes that are not these"


def earlier(view: LabelView, entries: list[Label], seen: int) -> Iterator[dict[int, Outcome | None]]:
    """The outcomes of the first ``seen`` episodes as they were, going back through the log line by line."""
    standing: dict[int, list[Label]] = {}
    taken: list[Label | None] = []
    for label in entries:
        labels = standing.setdefault(label.episode_uid, [])
        if label.undo:
            taken.append(labels.pop() if labels else None)
        else:
            taken.append(None)
            labels.append(label)
    recorded = {episode.uid: episode.recorded for episode in view.episodes[:seen]}
    outcomes = {episode.uid: episode.outcome for episode in view.episodes[:seen]}
    for label, was in zip(reversed(entries), reversed(taken), strict=True):
        labels = standing[label.episode_uid]
        if was is not None:
            labels.append(was)
        elif not label.undo:
            labels.pop()
        if label.episode_uid in outcomes:
            outcomes[label.episode_uid] = labels[-1].outcome if labels else recorded[label.episode_uid]
            yield dict(outcomes)


def in_words(view: LabelView, then: Mapping[int, Outcome | None], changed: Iterable[int]) -> str:
    """For example ``episode 3: failure -> success``; the first few."""
    most = 5
    changes = [
        f"episode {index}: {then[view.episodes[index].uid] or UNLABELLED} -> {view.episodes[index].kind}"
        for index in changed
    ]
    more = f" and {len(changes) - most} more" if len(changes) > most else ""
    return f"{len(changes)} labels have changed since it was trained ({', '.join(changes[:most])}{more})"


def warnings(trained: Iterable[Trained], dataset: Dataset) -> list[str]:
    """A line for each one that is stale, for verbs that use it beside this dataset."""
    stale = [verdict for verdict in compare(trained, dataset) if verdict.state is State.STALE]
    return [f"{verdict}. {REMEDY[verdict.trained.what]}" for verdict in stale]


REMEDY = {
    "policy": "Train it again with 'svm-robot pretrain' if it should know",
    "reward": "Fit it again with 'svm-robot fit-reward' if it should know",
    "run": "A run keeps the labels it began with; begin another one if it should know",
}
