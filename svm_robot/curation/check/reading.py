"""Opens single files of a dataset and says in plain words why one cannot be read."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from svm_robot.curation.check.findings import reason
from svm_robot.errors import DataError

PARQUET = b"PAR1"
LFS = b"version https://git-lfs"
POINTER = "is a Git LFS pointer, the content was never fetched (run 'git lfs pull' in the dataset's repository)"


def open_parquet(path: Path) -> pq.ParquetFile:
    """An open Parquet file; close it. Raises ``DataError`` that says why it cannot be read."""
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{short(path)} {why(path, error)}") from error


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a Parquet file; only ``columns`` if given. Raises ``DataError``."""
    with open_parquet(path) as parquet:
        try:
            return parquet.read(columns=None if columns is None else list(columns), use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(f"{short(path)} {why(path, error)}") from error


def short(path: Path) -> str:
    """The end of a file's name that tells the files of a dataset apart."""
    return "/".join(path.parts[-3:])


def why(path: Path, error: Exception) -> str:
    """Why a file that should be Parquet or MP4 cannot be read, as the rest of a sentence that begins with its name."""
    try:
        said = error.strerror if isinstance(error, OSError) and error.strerror else reason(error)
        return plain_reason(path) or f"is damaged ({said})"
    except PermissionError:
        return "cannot be read: permission denied"
    except OSError as second:
        return f"cannot be read: {second.strerror or reason(second)}"


def plain_reason(path: Path) -> str:
    """What the first and last bytes of an unreadable file tell; empty when they tell nothing."""
    if not path.exists():
        return "is missing"
    if not path.is_file():
        return "is not a file"
    with path.open("rb") as file:
        start = file.read(len(LFS))
        size = file.seek(0, 2)
        file.seek(max(0, size - 4))
        end = file.read(4)
    if size == 0:
        return "is empty (0 bytes)"
    if start.startswith(LFS):
        return POINTER
    if path.suffix == ".parquet" and not start.startswith(PARQUET):
        return "is not a Parquet file"
    if path.suffix == ".parquet" and end != PARQUET:
        return "has no footer: it was cut short, or its writer was killed before it finished the file"
    return ""
