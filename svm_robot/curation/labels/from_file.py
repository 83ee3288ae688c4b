"""Labels from a table that somebody else made: read and checked as a whole, before one line is written."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svm_robot.curation.labels.letters import LETTERS, split_tags
from svm_robot.curation.labels.ranges import as_ranges, of_ranges
from svm_robot.data.label_view import EpisodeLabel, LabelView
from svm_robot.data.labels import Draft
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout.episode import Outcome

COLUMNS = ("episode", "uid", "outcome", "reason", "tags", "by")
ALSO = ("length", "when", "history", "recorded", "seconds", "task", "source")
"""Columns of ``svm-robot label DATASET --json`` and ``data export --to=csv`` that are for people; they are not read."""
WORDS = {
    **{str(outcome): outcome for outcome in Outcome},
    **{letter: outcome for outcome, letter in LETTERS.items()},
    **dict.fromkeys(("true", "1", "yes"), Outcome.SUCCESS),
    **dict.fromkeys(("false", "0", "no"), Outcome.FAILURE),
}


@dataclass(frozen=True)
class Line:
    """One row of the file as it stands there."""

    where: str
    """``line 7`` of a table, ``entry 7`` of a list."""
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What an import would do."""

    drafts: tuple[Draft, ...]
    """Labels that are new or differ from the current ones."""
    rows: tuple[str, ...]
    """The same in words, one for each."""
    already: int
    """Rows that say what counts anyway."""
    silent: int
    """Rows without an outcome: they say nothing."""
    problems: tuple[str, ...]
    """Where the file is wrong; nothing may be imported then."""


def read_plan(file: Path, view: LabelView) -> Plan:
    """Read ``file`` and compare it with the labels of the dataset. Raises ``DataError`` for what is no table of labels.

    ``.csv`` (or ``.tsv``) with a head line, or ``.json``: a list of objects with the same names, an object from episode
    number to outcome, or one with the frames of success in each episode (see ``ranges``).
    """
    drafts: dict[int, tuple[str, Draft]] = {}
    rows, problems, already, silent = [], [], 0, 0
    for line in read_lines(file):
        try:
            episode = episode_of(line.fields, view)
            draft = draft_of(line.fields, episode)
            if draft is None:
                silent += 1
                continue
        except DataError as error:
            problems.append(f"{line.where}: {error}")
            continue
        where, before = drafts.get(episode.uid, (line.where, draft))
        if before != draft:
            problems.append(f"{line.where}: episode {episode.index} is another thing than in {where}")
        elif where == line.where:
            drafts[episode.uid] = (line.where, draft)
            if says_nothing_new(draft, episode):
                already += 1
            else:
                rows.append(in_words(draft, episode))
    new = [draft for _, draft in drafts.values() if not says_nothing_new(draft, by_uid(view)[draft.uid])]
    if not drafts and not problems:
        problems.append("it holds no label")
    return Plan(tuple(new), tuple(rows), already, silent, tuple(problems))


def read_lines(file: Path) -> list[Line]:
    """The rows of a table, whatever its form."""
    if file.suffix.lower() not in (".csv", ".tsv", ".json"):
        raise ConfigError(f"{file}: labels are imported from .csv, .tsv or .json files")
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 text ({error}); save it as UTF-8") from error
    try:
        return list(from_json(json.loads(text)) if file.suffix.lower() == ".json" else from_csv(text))
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {error.lineno}: not JSON ({error.msg})") from error
    except DataError as error:
        raise DataError(f"{file}: {error}") from error


def from_csv(text: str) -> Iterator[Line]:
    """Rows of a table with a head line; commas, semicolons (spreadsheets in many languages) or tabs between them."""
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        check_names(names)
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(names):
                raise DataError(f"line {reader.line_num}: {len(row)} cells under {len(names)} names")
            yield Line(f"line {reader.line_num}", dict(zip(names, row, strict=False)))
    except csv.Error as error:
        raise DataError(f"line {reader.line_num}: {error}") from error


def from_json(content: Any) -> Iterator[Line]:
    """Rows of a list of objects, or of an object from episode to what is said of it."""
    if isinstance(content, dict) and "episodes" in content:
        content = content["episodes"]
    if isinstance(content, list):
        for number, entry in enumerate(content, start=1):
            if not isinstance(entry, dict):
                raise DataError(f"entry {number} is no object with the names {', '.join(COLUMNS)}")
            check_names(list(entry))
            yield Line(f"entry {number}", entry)
        return
    if not isinstance(content, dict) or not any(is_number(name) for name in content):
        raise DataError("it holds no episodes: neither a list of objects nor an object from episode number to outcome")
    said = {name: value for name, value in content.items() if is_number(name)}
    notes = {name: value for name, value in content.items() if name not in said}
    wrong = [name for name, value in notes.items() if not isinstance(value, str)]
    if wrong:  # where the labels came from is a text
        raise DataError(f"'{wrong[0]}' is no episode number")
    in_frames = all(value is None or isinstance(value, dict) for value in said.values())
    for name, value in said.items():
        yield Line(f"episode {name}", {"episode": name, "frames" if in_frames else "outcome": value})


def check_names(names: Iterable[str]) -> None:
    """``DataError`` unless a row names an episode and an outcome, and nothing unknown."""
    found = list(names)
    unknown = [name for name in found if name not in (*COLUMNS, *ALSO)]
    if unknown:
        raise DataError(f"unknown column '{unknown[0]}'; known are {', '.join(COLUMNS)}")
    if len(set(found)) < len(found):
        raise DataError("two columns have the same name")
    if "outcome" not in found or not {"episode", "uid"} & set(found):
        raise DataError("needed are the columns outcome, and episode or uid")


def episode_of(fields: Mapping[str, Any], view: LabelView) -> EpisodeLabel:
    """The episode a row is about. Raises ``DataError`` when it names none, or two."""
    given = {name: fields.get(name) for name in ("episode", "uid")}
    texts = {name: str(value).strip().removesuffix(".0") for name, value in given.items() if value not in (None, "")}
    for name, text in texts.items():
        if not is_number(text):
            raise DataError(f"{name} '{text}' is no whole number")
    if not texts:
        raise DataError("it names no episode")
    found = view.episode(int(texts["episode"])) if "episode" in texts else None
    if "uid" not in texts:
        assert found is not None
        return found
    by_id = by_uid(view).get(int(texts["uid"]))
    if by_id is None:
        raise DataError(f"there is no episode with uid {texts['uid']}")
    if found is not None and found.uid != by_id.uid:
        raise DataError(f"episode {found.index} has uid {found.uid}, not {by_id.uid} (that is episode {by_id.index})")
    return by_id


def draft_of(fields: Mapping[str, Any], episode: EpisodeLabel) -> Draft | None:
    """What a row says; None where it says nothing. Raises ``DataError`` for an outcome that is none."""
    if "frames" in fields:
        return of_ranges(episode, as_ranges(fields["frames"]))
    word = str("" if fields.get("outcome") is None else fields["outcome"]).strip().lower()
    if not word:
        return None
    if word not in WORDS:
        raise DataError(f"outcome '{fields['outcome']}' is none; there are {', '.join(Outcome)}")
    reason, by = (str(fields.get(name) or "").strip() or None for name in ("reason", "by"))
    return Draft(episode.uid, WORDS[word], reason, tags_of(fields.get("tags")), by)


def tags_of(value: Any) -> tuple[str, ...] | None:
    """None where the file has no such column, or an empty cell: the tags stay as they are."""
    if isinstance(value, list):
        return tuple(str(tag) for tag in value)
    return split_tags(str(value)) if value else None


def says_nothing_new(draft: Draft, episode: EpisodeLabel) -> bool:
    """True when the current label says all of it already."""
    label = episode.label
    if label is None or label.outcome != draft.outcome:
        return False
    return draft.reason in (None, label.reason) and draft.tags in (None, label.tags)


def in_words(draft: Draft, episode: EpisodeLabel) -> str:
    """One label that would be given."""
    reason = f"  ({draft.reason})" if draft.reason else ""
    tags = f"  tags {', '.join(draft.tags)}" if draft.tags else ""
    return f"episode {episode.index}: {episode.kind} -> {draft.outcome}{tags}{reason}"


def by_uid(view: LabelView) -> dict[int, EpisodeLabel]:
    """Episode uid -> episode."""
    return {episode.uid: episode for episode in view.episodes}


def is_number(text: str) -> bool:
    """True for a whole number as people write it."""
    return re.fullmatch(r"[+-]?[0-9]+", text) is not None
