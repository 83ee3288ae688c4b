"""Files of a recording of others: read, found where they really lie, and named when they are not there."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from svm_robot.errors import DataError

PICKLE = (".pkl", ".pickle")
POINTER = b"version https://git-lfs"
"""How a file begins that git cloned without its content."""


def is_pointer(path: Path) -> bool:
    """True for a stand-in of Git LFS."""
    with path.open("rb") as file:
        return file.read(len(POINTER)) == POINTER


def refuse_pointers(paths: Iterable[Path], root: Path) -> None:
    """Raise ``DataError`` when one of the files was never fetched."""
    found = [path for path in paths if path.is_file() and is_pointer(path)]
    if found:
        raise DataError(
            f"{root} holds Git LFS pointers in place of {len(found)} files, the first is {found[0]}: "
            f"run 'git lfs pull' in the folder it was cloned into, then import again"
        )


def read_json(path: Path) -> dict[str, Any]:
    """A table from a JSON file."""
    refuse_pointers([path], path.parent.parent)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; every LeRobot dataset has it") from error
    except ValueError as error:
        raise DataError(f"{path} is damaged ({error})") from error
    if not isinstance(value, dict):
        raise DataError(f"{path} is damaged: it holds {type(value).__name__}, expected a table")
    return value


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """One table for each line of a file."""
    refuse_pointers([path], path.parent.parent)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; every LeRobot v2 dataset has it") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is damaged ({error})") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line) if line.strip() else None
        except ValueError as error:
            raise DataError(f"{path}, line {number} is damaged ({error})") from error
        if isinstance(row, dict):
            rows.append(row)
        elif row is not None:
            raise DataError(f"{path}, line {number}: expected a table, got {line[:40]}")
    return rows


def pickles_in(folder: Path) -> list[Path]:
    """Pickle files in a folder, also compressed ones."""
    return [path for path in folder.iterdir() if any(suffix in PICKLE for suffix in path.suffixes)]


class Finder:
    """Finds files by a template, and by name alone where the template leads nowhere."""

    def __init__(self, root: Path, folder: str, template: str) -> None:
        self.root, self.template = root, template
        self.elsewhere: list[Path] = []
        """Files that the template did not lead to."""
        self._by_name: dict[str, list[Path]] = {}
        for path in sorted((root / folder).rglob("*")):
            if path.is_file():
                self._by_name.setdefault(path.name, []).append(path)

    def find(self, parent: str, **values: Any) -> Path | None:
        """The file, or None. ``parent``: the name of its folder, any when empty."""
        try:
            path = self.root / self.template.format(**values)
        except (KeyError, IndexError, ValueError) as error:
            raise DataError(
                f"{self.root}: the file name template {self.template!r} cannot be read ({error})"
            ) from error
        if path.is_file():
            return path
        candidates = [found for found in self._by_name.get(path.name, []) if parent in ("", found.parent.name)]
        if len(candidates) != 1:
            return None
        self.elsewhere.append(candidates[0])
        return candidates[0]
