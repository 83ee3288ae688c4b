"""Write whole, then publish: a file is complete and on disk before it gets its name."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from svm_robot.errors import CheckpointError, SvmRobotError


def sync(path: Path) -> None:
    """Force a file, or the names inside a folder, onto the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_digest(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(folder: Path) -> None:
    """A folder, with those above it where they are missing; their names are on disk when this returns."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)


def publish(staged: Path, path: Path, durable: bool = True) -> None:
    """Give a complete file its final name; it is on disk under that name when this returns.

    ``durable`` False is for a folder built aside, which is put on disk as a whole later: see ``sync_tree``.
    """
    if durable:
        sync(staged)
        make_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    staged.replace(path)
    if durable:
        sync(path.parent)


def publish_text(text: str, path: Path, durable: bool = True) -> None:
    """Write a file as one whole: a reader sees the old one or the new one, never a part."""
    make_folder(path.parent)
    staged = path.with_name(f".{path.name}.new")
    try:
        staged.write_text(text, encoding="utf-8")
        publish(staged, path, durable)
    except OSError:  # a full disk must not be filled further by what is of no use
        staged.unlink(missing_ok=True)
        raise


def publish_json(value: Any, path: Path, indent: int | None = None, durable: bool = True) -> None:
    """The same for plain JSON values."""
    publish_text(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n", path, durable)


def sync_tree(folder: Path) -> None:
    """Force a folder with everything below it onto the disk."""
    for place, _, names in os.walk(folder):
        for name in names:
            sync(Path(place, name))
        sync(Path(place))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill that becomes ``path``, whole and on disk, when the block ends well; an older one makes way.

    A reader sees the old folder or the new one, never half of one. After an error nothing has changed.
    """
    fresh, old = path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")
    if old.exists() and not path.exists():  # a kill between the two names: the older one is all there is
        old.rename(path)
    for left_over in (fresh, old):
        shutil.rmtree(left_over, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        yield fresh
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    for part in [*fresh.iterdir(), fresh]:
        sync(part)
    if path.exists():
        path.rename(old)
    fresh.rename(path)
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def check_place(
    path: Path, what: str, sign: str, overwrite: bool, error: type[SvmRobotError] = CheckpointError
) -> None:
    """Refuse BEFORE hours of work what could not be saved after them.

    ``path`` must be free, or an older ``what`` (a folder with a file called ``sign``) that may be replaced; and its
    folder, or the nearest one that exists above it, must be one that can be written.
    """
    if path.exists() and not overwrite:
        raise error(f"{path} exists already; choose another --out or add --overwrite")
    if path.exists() and not (path / sign).is_file():
        raise error(f"{path} is no {what}, so it is not overwritten; choose another --out")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise error(f"{path} cannot be written: {above} is a file; choose another --out")
    if not os.access(above, os.W_OK | os.X_OK):
        raise error(f"{path} cannot be written: no permission in {above}; choose another --out")
