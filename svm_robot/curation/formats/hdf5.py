"""Reads HDF5 in robomimic's layout: ``data/demo_N`` with ``actions``, ``obs``, ``rewards``, ``dones``.

``hdf5_writer`` writes the same layout, and beside it what robomimic has no place for (``svm_robot`` and ``columns``).
``states`` of a simulator and ``next_obs`` are not kept.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa

from svm_robot.curation.formats.features import Plan
from svm_robot.curation.formats.observations import as_picture, pick_state, picture_features, state_feature
from svm_robot.curation.formats.opened import ImportOptions, Opened
from svm_robot.curation.formats.pieces import Header, Piece, assemble
from svm_robot.curation.formats.rows import EpisodeError, survey
from svm_robot.curation.formats.whole import ROWS, Missing, restrict, whole_ones
from svm_robot.data import columns
from svm_robot.data.schema import vector, whole_rate
from svm_robot.data.tables import to_arrow
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout.env import ImageArray

OURS = "svm_robot"
"""Attribute of ``data`` in files that we wrote: JSON, with a version."""
VERSION = 1
COLUMNS = "columns"
"""Group of a demo with the columns that robomimic has no name for."""
SUFFIX = "_image"
FIXED = {"rewards": (columns.REWARD, "float32"), "dones": (columns.DONE, "bool")}


@dataclass(frozen=True)
class Shape:
    """How the demos of a file are laid out, by the first one."""

    state: tuple[str, ...]
    """Observations that make up the state."""
    pictures: Mapping[str, str]
    """Camera role -> observation."""
    plan: Plan
    notes: tuple[str, ...]


def open_hdf5(path: Path, options: ImportOptions) -> Opened:
    """A file as a source. Raises ``DataError`` or, where the command line must say more, ``ConfigError``."""
    with opened(path) as file:
        if "data" not in file or not isinstance(file["data"], h5py.Group):
            raise DataError(f"{path} has no group 'data': only robomimic's layout (data/demo_0, ...) is read")
        data = file["data"]
        demos = sorted((name for name in data if name.startswith("demo")), key=numbered)
        if not demos:
            raise DataError(f"{path} holds no demos: there is nothing to import")
        ours = own_notes(data, path)
        arguments = json.loads(text(data.attrs.get("env_args", "{}"))).get("env_kwargs") or {}
        robot = options.robot_type or ours.get("robot_type") or robot_of(arguments)
        header = Header(path, "robomimic HDF5", rate_of(arguments, options, path), robot, options.time)
        layout = layout_of(data[demos[0]], ours, options, f"{path}: {demos[0]}")
        missing = Missing(path, len(demos), len(layout.plan.cameras))
        pieces = [
            found
            for number, name in enumerate(demos)
            if (found := piece(number, path, data[name], layout, options, header.rate_hz, missing)) is not None
        ]
    kept = whole_ones(pieces, missing, options)
    return assemble(header, layout.plan, kept, missing.numbers(), [*layout.plan.notes, *layout.notes])


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """The file for reading. Raises ``DataError`` when it is damaged."""
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, json.JSONDecodeError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise DataError(f"{path} cannot be read as HDF5, or is damaged ({' '.join(str(error).split())})") from error


def own_notes(data: h5py.Group, path: Path) -> dict[str, Any]:
    """What our writer noted; empty for files of others. Raises ``DataError`` for a later version."""
    notes: dict[str, Any] = json.loads(text(data.attrs.get(OURS, "{}")))
    if notes and notes["version"] != VERSION:
        raise DataError(
            f"{path} was written in version {notes['version']}, this tool reads {VERSION}; update svm_robot"
        )
    return notes


def rate_of(arguments: Mapping[str, Any], options: ImportOptions, path: Path) -> int:
    """The control rate. Raises ``ConfigError`` when nobody says it, or the file says another."""
    stored = arguments.get("control_freq")
    rate_hz = options.rate_hz if stored is None else float(stored)
    if rate_hz is None:
        raise ConfigError(f"{path} does not say its control rate; add --fps=20, for example")
    if options.rate_hz not in (None, rate_hz):
        raise ConfigError(f"{path} says its control rate is {stored} Hz; leave --fps={options.rate_hz} out")
    return whole_rate(rate_hz)


def robot_of(arguments: Mapping[str, Any]) -> str | None:
    """Name of the robot in a simulator's arguments."""
    robots = arguments.get("robots")
    return "+".join(map(str, robots)) if isinstance(robots, list) else robots


def layout_of(demo: h5py.Group, ours: Mapping[str, Any], options: ImportOptions, where: str) -> Shape:
    """What the observations are. Raises ``DataError`` when there are none."""
    if "obs" not in demo or "actions" not in demo:
        raise DataError(
            f"{where} has no {'obs' if 'actions' in demo else 'actions'}: observations must be rendered first"
        )
    observations = demo["obs"]
    pictures = {k.removesuffix(SUFFIX): k for k, v in observations.items() if v.ndim == 4 and v.dtype == np.uint8}
    vectors = [key for key, value in observations.items() if value.ndim <= 2 and value.dtype.kind in "biuf"]
    state = pick_state(vectors, options.state, where)
    left = sorted({*observations} - {*pictures.values(), *state})
    first = {role: as_picture(observations[key][0]) for role, key in pictures.items()}
    sizes = {role: (picture.shape[0], picture.shape[1]) for role, picture in first.items()}
    lengths = {key: 1 if observations[key].ndim == 1 else int(observations[key].shape[1]) for key in state}
    table = {columns.STATE: state_feature(lengths), columns.ACTION: vector("float32", int(demo["actions"].shape[1]))}
    for key in (columns.STATE, columns.ACTION):
        table[key]["names"] = ours.get("names", {}).get(key, table[key]["names"])
    table |= {name: vector(dtype, 1) for key, (name, dtype) in FIXED.items() if key in demo}
    for name, values in demo.get(COLUMNS, {}).items():
        table[name] = vector(values.dtype.name, 1 if values.ndim == 1 else int(values.shape[1]))
    plan = restrict(Plan(table, picture_features(sizes), {}, ()), options)
    notes = [f"the state is made of {', '.join(state)}"] if state != ("state",) else []
    notes += [f"left out: the observation {', '.join(left)}"] if left else []
    return Shape(state, pictures, plan, tuple(notes))


def piece(
    number: int, path: Path, demo: h5py.Group, layout: Shape, options: ImportOptions, rate_hz: int, missing: Missing
) -> Piece | None:
    """One demo, checked; None when it does not fit the others: ``missing`` is told why."""
    name = demo.name.rpartition("/")[2]
    task = task_of(demo, options, path)
    try:
        seen = survey(rows(demo, layout), layout.plan, {}, task, rate_hz)
    except (EpisodeError, KeyError, ValueError) as error:
        missing.add(number, ROWS, f"it does not fit the first one: {' '.join(str(error).split())}")
        return None
    frames = {}
    for key in layout.plan.cameras:
        source = layout.pictures[key.removeprefix(columns.IMAGES)]
        if source not in demo["obs"] or len(demo["obs"][source]) != seen.length:
            missing.add(number, key, "there is not one picture for each row")
        frames[key] = partial(pictures, path, f"{demo.name}/obs/{source}")
    uid, outcome = demo.attrs.get("episode_uid"), demo.attrs.get("outcome")
    if missing.misses(number):
        return None
    return Piece(
        number,
        seen,
        partial(read, path, name, layout),
        frames=frames,
        uid=None if uid is None else int(uid),
        outcome=None if outcome is None else text(outcome),
    )


def task_of(demo: h5py.Group, options: ImportOptions, path: Path) -> str:
    """The sentence. Raises ``ConfigError`` when nobody says it."""
    told = json.loads(text(demo.attrs.get("ep_meta", "{}"))).get("lang") or text(demo.attrs.get("task", ""))
    task = options.task or told
    if not task:
        raise ConfigError(f"{path} does not say what the task was; add --task='what the robot did'")
    return str(task)


def rows(demo: h5py.Group, layout: Shape) -> pa.Table:
    """The numbers of a demo as a table."""
    observations = demo["obs"]
    parts = [np.asarray(observations[key]) for key in layout.state]
    state = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    table = {columns.STATE: state.astype(np.float32), columns.ACTION: np.asarray(demo["actions"]).astype(np.float32)}
    table |= {name: np.asarray(demo[key]).astype(dtype) for key, (name, dtype) in FIXED.items() if key in demo}
    table |= {name: np.asarray(values) for name, values in demo.get(COLUMNS, {}).items()}
    return pa.table({key: to_arrow(values) for key, values in table.items()})


def read(path: Path, name: str, layout: Shape) -> pa.Table:
    """The same, from the file."""
    with opened(path) as file:
        return rows(file["data"][name], layout)


def pictures(path: Path, name: str) -> Iterator[ImageArray]:
    """The frames of one camera, one at a time."""
    with opened(path) as file:
        for position in range(len(file[name])):
            yield as_picture(file[name][position])


def numbered(name: str) -> tuple[int, str]:
    """Sorting key: ``demo_2`` before ``demo_10``."""
    found = re.search(r"(\d+)$", name)
    return (int(found.group(1)) if found else -1), name


def text(value: Any) -> str:
    """An attribute as text."""
    return value.decode() if isinstance(value, bytes) else str(value)
