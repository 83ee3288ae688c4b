"""Where a new dataset is built, and how it takes its place: a reader sees the old one or the new one, never a part."""

import ctypes
import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from svm_robot.data.files import sync, sync_tree
from svm_robot.data.labels import FILE
from svm_robot.data.layout import INFO
from svm_robot.errors import DataError
from svm_robot.recording.recovery import LOCK

HERE = -100
"""``AT_FDCWD``: paths are relative to the working folder."""
EXCHANGE = 2
"""``RENAME_EXCHANGE`` of Linux and ``RENAME_SWAP`` of macOS."""
UNABLE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def check_target(target: Path, replace: bool) -> None:
    """Raise ``DataError`` when no dataset can be put at ``target``."""
    if replace and not (target / INFO).is_file():
        raise DataError(f"{target} is no dataset, so it is not replaced")
    if not replace and (target.exists() or target.is_symlink()):
        raise DataError(f"{target} exists already; choose another --out")
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise DataError(f"{target} cannot be written: {above} is no folder that may be written; choose another --out")
    inside = next((folder for folder in target.absolute().parents if (folder / INFO).is_file()), None)
    if inside is not None:
        raise DataError(f"{target} lies inside the dataset {inside}; choose another --out")


@contextmanager
def aside(target: Path) -> Iterator[Path]:
    """A new, empty folder beside ``target``; gone at the end unless it was renamed. What a killed run left is removed.

    Raises ``DataError`` while another program builds the same dataset.
    """
    folder = target.with_name(f".{target.name}.rebuild")
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataError(f"another program is building {target}; wait for it or choose another --out") from error
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def put_in_place(built: Path, target: Path, replace: bool) -> Path | None:
    """Force ``built`` onto the disk and give it the name ``target``; where the replaced dataset lies now."""
    sync_tree(built)
    backup = free_backup(target) if replace else None
    if backup is None:
        built.rename(target)
    else:
        swap(built, target, backup)
    try:
        sync(target.parent)
    except OSError as error:
        old = f"; what was there before is {backup}" if backup else ""
        raise DataError(f"{target} is built, but its name may not survive a power cut ({error}){old}") from error
    return backup


def swap(built: Path, target: Path, backup: Path) -> None:
    """``built`` becomes ``target``, and what was there ``backup``; after any exception all is as it was, or all done.

    The name that ``aside`` sweeps away never holds the old dataset, so a kill costs nothing. It can leave the new one
    as ``backup`` before the exchange; and where names cannot be exchanged, the old one as ``backup`` and no ``target``.
    """
    new = built.stat()
    try:
        built.rename(backup)
        if not exchange(backup, target):  # a moment without a dataset, on file systems that can do no better
            backup.rename(built)
            target.rename(backup)
            built.rename(target)
    except BaseException:  # a Ctrl-C comes between any two steps: what lies where says how far they came
        if backup.exists() and os.path.samestat(backup.stat(), new):
            backup.rename(built)
        elif not target.exists():
            backup.rename(target)
        raise


def free_backup(target: Path) -> Path:
    """``NAME.before-N`` with the first free number."""
    number = 1
    while os.path.lexists(path := target.with_name(f"{target.name}.before-{number}")):
        number += 1
    return path


def exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step; False where the system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, EXCHANGE)
        else:
            failed = library.renameat2(HERE, names[0], HERE, names[1], EXCHANGE)
    except AttributeError:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


@contextmanager
def nobody_else(root: Path) -> Iterator[None]:
    """Keep recorders and labellers out of a dataset while it is replaced; those who wait for the labels' lock get the
    new log. Raises ``DataError`` while a recording runs.
    """
    with ExitStack() as stack:
        if (root / INFO).is_file() and not (root / LOCK).exists():  # an imported dataset: nobody has recorded into it
            lend_lock(root, stack)
        for name, mode in ((LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB), (FILE, fcntl.LOCK_EX)):
            if not (root / name).is_file():
                continue
            handle = os.open(root / name, os.O_RDWR)
            stack.callback(os.close, handle)
            try:
                fcntl.flock(handle, mode)
            except BlockingIOError as error:
                raise DataError(f"another program is recording into {root}; stop it first") from error
        yield


def lend_lock(root: Path, stack: ExitStack) -> None:
    """A lock file for as long as ``stack`` lasts, whatever the folder is called by then."""
    folder = os.open(root, os.O_RDONLY)
    stack.callback(os.close, folder)
    os.close(os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o644, dir_fd=folder))
    stack.callback(os.unlink, LOCK, dir_fd=folder)
