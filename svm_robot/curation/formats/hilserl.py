"""Reads HIL-SERL transitions: pickled lists of {observations, actions, next_observations, rewards, masks, dones}.

Episodes end where ``dones`` says so, and where an observation is not the one that the transition before led to (a time
limit leaves no other trace). The observation after the last action of an episode has no place in a LeRobot dataset and
is not kept. One file at a time is in memory.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from svm_robot.curation.formats.features import Plan
from svm_robot.curation.formats.files_at import PICKLE, pickles_in
from svm_robot.curation.formats.observations import (
    as_picture,
    as_vector,
    flatten,
    looks_like_picture,
    pick_state,
    picture_features,
    state_feature,
)
from svm_robot.curation.formats.opened import ImportOptions, Opened
from svm_robot.curation.formats.pieces import Header, Piece, assemble
from svm_robot.curation.formats.rows import EpisodeError, survey
from svm_robot.curation.formats.safe_pickle import load_plain
from svm_robot.curation.formats.whole import ROWS, Missing, restrict, whole_ones
from svm_robot.data import columns
from svm_robot.data.schema import vector
from svm_robot.data.tables import to_arrow
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout.env import ImageArray

NEEDED = ("observations", "actions")
INTERVENED = "intervene_action"

Transition = Mapping[str, Any]


@dataclass
class Draft:
    """An episode while its transitions are collected: the numbers, and where the pictures are."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    """(number of the file, number of the transition in it)."""
    state: list[Any] = field(default_factory=list)
    action: list[Any] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    intervention: list[bool] = field(default_factory=list)
    done: bool = False
    bootstraps: bool = False
    """The last mask: 1 where the value after the last step counts, as after a time limit."""


class Files:
    """The pickles of a recording, in order, of which the last one that was used is kept."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self._open: tuple[int, list[Transition]] | None = None

    def load(self, number: int) -> list[Transition]:
        """The transitions of one file. Raises ``DataError`` when it holds anything else."""
        if self._open is None or self._open[0] != number:
            self._open = None  # the old one must be free before the new one is read
            self._open = number, transitions(load_plain(self.paths[number]), self.paths[number])
        return self._open[1]

    def pictures(self, spans: Sequence[tuple[int, int]], key: str) -> Iterator[ImageArray]:
        """One camera's frames of an episode."""
        for file, position in spans:
            yield as_picture(np.asarray(flatten(self.load(file)[position]["observations"])[key]))


def transitions(value: Any, path: Path) -> list[Transition]:
    """The content of a file. Raises ``DataError`` when it is no list of transitions."""
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        what = f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__
        raise DataError(f"{path} holds {what}, expected a list of transitions with {', '.join(NEEDED)}, ...")
    for number, item in enumerate(value):
        lacking = [key for key in NEEDED if key not in item]
        if lacking:
            raise DataError(f"{path}: transition {number} has no {', '.join(lacking)}; it has {', '.join(item)}")
    return value


def open_hilserl(path: Path, options: ImportOptions) -> Opened:
    """Pickled transitions, in one file or a folder of them, as a source. Raises ``DataError``, ``ConfigError``."""
    if options.rate_hz is None or options.task is None:
        raise ConfigError(
            f"{path}: transitions store neither rate nor task; add --fps=10 --task='what the robot did', for example"
        )
    files = Files(in_order(path))
    first = {key: np.asarray(value) for key, value in flatten(files.load(0)[0]["observations"]).items()}
    pictures = {key: as_picture(value) for key, value in first.items() if looks_like_picture(value)}
    vectors = {key: as_vector(value) for key, value in first.items() if value.dtype.kind in "biuf" and value.ndim <= 2}
    state = pick_state(tuple(vectors), options.state, str(path))
    left = sorted({*first} - {*pictures, *state})
    plan = plan_for(files, {key: len(vectors[key]) for key in state}, pictures)
    plan = restrict(plan, options)
    drafts = split(files, state)
    header = Header(path, "HIL-SERL transitions", options.rate_hz, options.robot_type, options.time)
    missing = Missing(path, len(drafts), len(plan.cameras))
    pieces = [p for n, draft in enumerate(drafts) if (p := piece(n, draft, files, plan, options, missing)) is not None]
    kept = whole_ones(pieces, missing, options)
    cut = sum(not draft.done for draft in drafts)
    notes = [f"the state is made of {', '.join(state)}"]
    notes += [f"left out: the observation {', '.join(left)}"] if left else []
    notes += [f"{cut} episodes end without 'dones': they are marked as truncated"] if cut else []
    return assemble(header, plan, kept, missing.numbers(), [*plan.notes, *notes])


def in_order(path: Path) -> list[Path]:
    """The files of a recording, ``transitions_2000`` before ``transitions_10000``."""
    if path.is_file():
        return [path]
    found = pickles_in(path)
    if not found:
        raise DataError(f"{path} holds no pickles ({', '.join(f'*{suffix}' for suffix in PICKLE)})")
    return sorted(
        found, key=lambda file: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.name)]
    )


def plan_for(files: Files, sizes: Mapping[str, int], pictures: Mapping[str, ImageArray]) -> Plan:
    """Columns of the dataset to build, from the first transition."""
    first = files.load(0)[0]
    table = {
        columns.STATE: state_feature(sizes),
        columns.ACTION: vector("float32", len(as_vector(first["actions"]))),
        columns.REWARD: vector("float32", 1),
        columns.DONE: vector("bool", 1),
        columns.TRUNCATED: vector("bool", 1),
    }
    if "rewards" not in first:
        del table[columns.REWARD]
    if "infos" in first:
        table[columns.INTERVENTION] = vector("bool", 1)
    cameras = picture_features({key: (picture.shape[0], picture.shape[1]) for key, picture in pictures.items()})
    return Plan(table, cameras, {}, ())


def split(files: Files, state: Sequence[str]) -> list[Draft]:
    """The episodes of a recording, over the borders of its files. Raises ``DataError`` for a shuffled one."""
    drafts: list[Draft] = []
    led_to: Any = None
    jumps = total = 0
    for number in range(len(files.paths)):
        for position, item in enumerate(files.load(number)):
            seen = numbers_of(item["observations"], state)
            follows = bool(drafts) and not drafts[-1].done and (led_to is None or np.array_equal(seen, led_to))
            jumps += bool(drafts) and not drafts[-1].done and not follows
            total += 1
            if not follows:
                drafts.append(Draft())
            add(drafts[-1], item, seen, (number, position))
            after = item.get("next_observations")
            led_to = None if after is None else numbers_of(after, state)
    if jumps > total / 2:
        raise DataError(
            f"{files.paths[0]}: {jumps} of {total} transitions do not lead to the next one; they were shuffled, or are "
            "single pictures of a classifier: there are no episodes to import"
        )
    return drafts


def numbers_of(observation: Any, state: Sequence[str]) -> Any:
    """The state vector of an observation. Raises ``DataError`` when a part of it is missing."""
    flat = flatten(observation)
    lacking = [key for key in state if key not in flat]
    if lacking:
        raise DataError(f"an observation lacks {', '.join(lacking)}, which the first one has")
    return np.concatenate([as_vector(flat[key]) for key in state])


def add(draft: Draft, item: Transition, state: Any, place: tuple[int, int]) -> None:
    """Append a transition to an episode."""
    draft.spans.append(place)
    draft.state.append(state)
    draft.action.append(as_vector(item["actions"]))
    draft.reward.append(float(np.asarray(item.get("rewards", 0.0)).ravel()[0]))
    draft.intervention.append(INTERVENED in (item.get("infos") or {}))
    draft.done = bool(np.asarray(item.get("dones", False)).ravel()[0])
    draft.bootstraps = draft.done and bool(np.asarray(item.get("masks", 0.0)).ravel()[0] > 0)


def piece(
    number: int, draft: Draft, files: Files, plan: Plan, options: ImportOptions, missing: Missing
) -> Piece | None:
    """A collected episode, checked; None when its numbers do not fit: ``missing`` is told why."""
    assert options.task is not None
    assert options.rate_hz is not None
    columns_of = {columns.STATE: draft.state, columns.ACTION: draft.action}
    if any({len(row) for row in rows} != {plan.features[key]["shape"][0]} for key, rows in columns_of.items()):
        missing.add(number, ROWS, "its states or actions are not all of one length")
        return None
    table = table_of(draft, plan)
    try:
        seen = survey(table, plan, {}, options.task, options.rate_hz)
    except EpisodeError as error:
        missing.add(number, ROWS, str(error))
        return None
    told = {columns.REWARD: np.array(draft.reward), columns.DONE: np.array([draft.done])}
    frames = {key: partial(files.pictures, draft.spans, key.removeprefix(columns.IMAGES)) for key in plan.cameras}
    return Piece(number, replace(seen, told=told), partial(table_of, draft, plan), frames=frames)


def table_of(draft: Draft, plan: Plan) -> pa.Table:
    """The numbers of an episode as a table. The last row is done, and truncated unless success ended it."""
    last = np.arange(len(draft.spans)) == len(draft.spans) - 1
    terminated = draft.done and not draft.bootstraps and draft.reward[-1] > 0
    table = {
        columns.STATE: np.stack(draft.state).astype(np.float32),
        columns.ACTION: np.stack(draft.action).astype(np.float32),
        columns.REWARD: np.array(draft.reward, np.float32),
        columns.DONE: last,
        columns.TRUNCATED: last & (not terminated),
        columns.INTERVENTION: np.array(draft.intervention),
    }
    return pa.table({key: to_arrow(values) for key, values in table.items() if key in plan.features})
