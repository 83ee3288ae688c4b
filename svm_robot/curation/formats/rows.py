"""Rows of one episode of a Parquet file of others, checked and brought into the shape of our columns."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from svm_robot.curation.formats.features import Plan
from svm_robot.curation.formats.outcomes import TELLING
from svm_robot.data import columns
from svm_robot.data.tables import not_finite
from svm_robot.errors import DataError
from svm_robot.recording.commit import TASK, Table

OFF_GRID_S = 2e-3
"""Times further than this from k/fps are kept in a column of their own [s]: float32 alone is off by less."""


@dataclass(frozen=True)
class Survey:
    """What must be known of an episode before its rows are needed."""

    length: int
    absent: frozenset[str]
    """Promised columns that its file does not have."""
    strange: frozenset[str]
    """Columns that nothing was promised of."""
    off_grid: bool
    """True when its timestamps are not k/fps."""
    sentences: tuple[str, ...]
    """The task of each row."""
    told: Mapping[str, NDArray[Any]]
    digest: bytes
    """Of states and actions: the same in every format the episode is kept in."""


class EpisodeError(DataError):
    """What keeps one episode from being imported, in words."""


def survey(table: pa.Table, plan: Plan, tasks: Mapping[int, str], fallback: str, rate_hz: float) -> Survey:
    """Check one episode's rows. Raises ``EpisodeError``."""
    promised = {*plan.features, *(part for parts in plan.gathered.values() for part in parts)} - {*plan.gathered}
    known = {*promised, *plan.cameras, "timestamp", "frame_index", "episode_index", "index", "task_index"}
    if table.num_rows == 0:
        raise EpisodeError("it has no rows")
    vectors = {key: vector_of(table, plan, key) for key in (columns.STATE, columns.ACTION)}
    for key, values in vectors.items():
        if places := list(islice(not_finite(key, 0, values), 1)):
            raise EpisodeError(f"its numbers are not finite: {places[0].partition('episode 0, ')[2]} of {key}")
    if "frame_index" in table.column_names:
        check_numbered(checked(table, "frame_index").ravel())
    return Survey(
        length=table.num_rows,
        absent=frozenset(promised - {*table.column_names}),
        strange=frozenset({*table.column_names} - known),
        off_grid=off_grid(table, rate_hz),
        sentences=sentences_of(table, tasks, fallback),
        told={key: checked(table, key) for key in TELLING if key in table.column_names and key in plan.features},
        digest=digest(vectors[columns.STATE], vectors[columns.ACTION]),
    )


def vector_of(table: pa.Table, plan: Plan, key: str) -> NDArray[Any]:
    """(T, n) numbers of a vector, put together from single columns where the plan says so. Raises ``EpisodeError``."""
    parts = plan.gathered.get(key, (key,))
    absent = [part for part in parts if part not in table.column_names]
    if absent:
        raise EpisodeError(f"its data file lacks the column {', '.join(absent)}")
    if key in plan.gathered:
        return np.stack([checked(table, part).reshape(-1) for part in parts], axis=1)
    values = checked(table, key)
    values = values.reshape(len(values), -1)
    length = int(plan.features[key]["shape"][0])
    if values.shape[1] != length:
        raise EpisodeError(f"its {key} holds {values.shape[1]} numbers a row, the metadata says {length}")
    return values


def checked(table: pa.Table, name: str) -> NDArray[Any]:
    """(T,) or (T, n) of a column; tables inside the rows are laid out in a row. Raises ``EpisodeError`` for gaps."""
    values = table[name].combine_chunks()
    rows, nested = len(values), False
    while not values.null_count and is_list(values.type):
        lengths = pc.unique(pc.list_value_length(values))
        if len(lengths) > 1:
            raise EpisodeError(
                f"its {name} holds vectors of {' and '.join(str(n) for n in sorted(lengths.to_pylist()))} numbers"
            )
        values, nested = values.flatten(), True
    if values.null_count:
        raise EpisodeError(f"its {name} has {values.null_count} gaps (rows without a value)")
    flat = np.asarray(values.to_numpy(zero_copy_only=False))
    return flat.reshape(rows, -1) if nested else flat


def is_list(kind: pa.DataType) -> bool:
    """True for lists of any sort."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def check_numbered(frames: NDArray[Any]) -> None:
    """Raise ``EpisodeError`` unless frames are numbered from 0 without a gap."""
    if not np.array_equal(frames, np.arange(len(frames))):
        first = int(np.argmax(frames != np.arange(len(frames))))
        raise EpisodeError(
            f"its frames are not numbered 0 to {len(frames) - 1}: row {first} is frame {int(frames[first])}"
        )


def off_grid(table: pa.Table, rate_hz: float) -> bool:
    """True when timestamps differ from k/fps."""
    if "timestamp" not in table.column_names:
        return False
    times = checked(table, "timestamp").astype(np.float64).ravel()
    return bool(np.any(np.abs(times - np.arange(len(times)) / rate_hz) > OFF_GRID_S))


def sentences_of(table: pa.Table, tasks: Mapping[int, str], fallback: str) -> tuple[str, ...]:
    """The task of each row. Raises ``EpisodeError`` for a number without a sentence."""
    if "task_index" not in table.column_names:
        return (fallback,) * int(table.num_rows)
    numbers = [int(number) for number in checked(table, "task_index").ravel()]
    unknown = sorted({*numbers} - {*tasks})
    if unknown:
        raise EpisodeError(f"its task {unknown[0]} has no sentence in the metadata")
    return tuple(tasks[number] for number in numbers)


def digest(state: NDArray[Any], action: NDArray[Any]) -> bytes:
    """Hash of an episode's numbers."""
    content = hashlib.sha256(f"{len(state)} {state.shape[1]} {action.shape[1]} ".encode())
    content.update(np.ascontiguousarray(state, np.float32).tobytes())
    content.update(np.ascontiguousarray(action, np.float32).tobytes())
    return content.digest()


def uids(digests: list[bytes]) -> list[int]:
    """A stable 62-bit id for each episode; equal episodes are told apart by their order."""
    seen: dict[bytes, int] = {}
    found = []
    for content in digests:
        seen[content] = seen.get(content, -1) + 1
        whole = hashlib.sha256(content + seen[content].to_bytes(8, "little")).digest()
        found.append(int.from_bytes(whole[:8], "little") >> 2)
    return found


def shape(table: pa.Table, plan: Plan, names: Collection[str], uid: int, sentences: Sequence[str]) -> Table:
    """The columns ``names`` of an episode's rows, and the sentence of each row where there is more than one."""
    found: dict[str, NDArray[Any] | pa.Array] = {}
    for key in names:
        if key == columns.EPISODE_UID:
            found[key] = np.full(table.num_rows, uid, np.int64)
        elif key == columns.SOURCE_TIME:
            found[key] = checked(table, "timestamp").astype(np.float64)
        elif plan.features[key]["dtype"] in ("image", "string"):
            found[key] = table[key].combine_chunks()
        else:
            found[key] = vector_of(table, plan, key)
    return found if len({*sentences}) == 1 else found | {TASK: pa.array(sentences)}
