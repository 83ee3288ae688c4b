"""A quick look before a recording goes on: is what the dataset counts there at all, and are the newest files whole?

It takes milliseconds. ``svm-robot data check`` looks at everything.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from svm_robot.data.files import file_digest
from svm_robot.data.layout import DIGEST, Layout, Row, read_info, read_layout
from svm_robot.errors import DataError

NEWEST = 3
"""Episodes whose files are compared with their digests: a power cut hits the newest ones."""

SHOWN = 3
"""Problems that are named."""


def read_counted(root: Path) -> Layout:
    """The metadata of a dataset that recording may go on with.

    Raises ``DataError`` that says what is wrong with the counted episodes and how to mend it; nothing was touched.
    """
    read_info(root)  # what is no v3 dataset cannot be mended either
    try:
        layout = read_layout(root)
        found = problems(layout)
    except DataError as error:
        raise DataError(f"{error}. {remedy(root)}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the metadata of {root} is damaged ({error!r}). {remedy(root)}") from error
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise DataError(f"{root} is damaged: {'; '.join(found[:SHOWN])}{more}. {remedy(root)}")
    return layout


def remedy(root: Path) -> str:
    """What to do about a damaged dataset."""
    return f"Look with 'svm-robot data check {root}', mend it with 'svm-robot data repair {root}' or record --repair"


def problems(layout: Layout) -> list[str]:
    """What is wrong with the counted episodes, as far as a glance tells."""
    found = []
    expected = 0
    for row in layout.episodes:
        if row["dataset_from_index"] != expected or row["dataset_to_index"] - expected != row["length"]:
            found.append(f"episode {row['episode_index']} does not begin where the one before ends")
        expected = row["dataset_to_index"]
    if expected != layout.info["total_frames"]:
        found.append(f"info.json counts {layout.info['total_frames']} frames, the episodes hold {expected}")
    for row in layout.episodes:
        found += [problem for file in files_of(layout, row).values() if (problem := glance(layout, row, file))]
    for row in layout.episodes[-NEWEST:]:
        found += changed(layout, row)
    return list(dict.fromkeys(found))


def files_of(layout: Layout, row: Row) -> dict[str, Path]:
    """``data`` or the name of a camera -> the file with an episode's rows or frames."""
    videos = [key for key, feature in layout.info["features"].items() if feature["dtype"] == "video"]
    return {"data": layout.data_file(row), **{key: layout.video_file(row, key) for key in videos}}


def glance(layout: Layout, row: Row, file: Path) -> str:
    """Why a file cannot be right; empty when it may be."""
    name, index = file.relative_to(layout.root), row["episode_index"]
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - 4))
            end = opened.read()
    except OSError as error:
        return f"episode {index}: {name}: {error.strerror}"
    if size == 0:
        return f"episode {index}: {name} is empty"
    if file.suffix == ".parquet" and end != b"PAR1":
        return f"episode {index}: {name} was cut short or never finished"
    return ""


def changed(layout: Layout, row: Row) -> list[str]:
    """Files of an episode that are not what was saved, or do not hold its rows."""
    found = []
    for key, file in files_of(layout, row).items():
        noted, name = row.get(DIGEST + key), file.relative_to(layout.root)
        if file.is_file() and noted and file_digest(file) != noted:
            found.append(f"episode {row['episode_index']}: {name} is not what was saved (its SHA-256 is another)")
    data = layout.data_file(row)
    try:
        held = pq.read_metadata(data).num_rows
    except (pa.ArrowException, OSError):
        return found or [f"episode {row['episode_index']}: {data.relative_to(layout.root)} cannot be read"]
    if held < row["length"]:
        text = f"{data.relative_to(layout.root)} holds {held} rows of {row['length']}"
        found.append(f"episode {row['episode_index']}: {text}")
    return found
