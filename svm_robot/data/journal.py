"""The diary of a run: one JSON line per event, appended and flushed, read back by the report.

Writer and reader are a pair; ``VERSION`` changes when a line's meaning does.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svm_robot.errors import DataError

VERSION = 1
FILE = "journal.jsonl"


class Journal:
    """Appends events to ``RUN/journal.jsonl``. Each event has a ``kind`` and plain JSON values."""

    def __init__(self, run: Path) -> None:
        self.path = run / FILE

    def write(self, kind: str, **values: Any) -> None:
        """Append one event; on disk when this returns. A line that a power cut left torn is removed first."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        drop_torn_line(self.path)
        line = json.dumps({"version": VERSION, "kind": kind, **values}, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())


def drop_torn_line(path: Path) -> None:
    """Cut the file back to its last whole line, so that what a resumed run appends stays readable."""
    if not path.is_file():
        return
    with path.open("rb+") as file:
        file.seek(0, os.SEEK_END)
        size = file.tell()
        if size == 0:
            return
        file.seek(size - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def read_journal(run: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """All events of a run (of one kind, if given), oldest first. A torn last line (power cut) is left out."""
    return [event for event in _lines(run / FILE) if kind is None or event["kind"] == kind]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise DataError(f"no run in {path.parent}: {path.name} is missing (a run is what 'svm-robot finetune' wrote)")
    whole = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows the last line break is torn
    for number, line in enumerate(whole, start=1):
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(event, dict) or "kind" not in event:
            raise DataError(f"{path}, line {number}: no event of a run")
        if event.get("version") != VERSION:
            raise DataError(f"{path}, line {number}: version {event.get('version')}, this tool reads {VERSION}")
        yield event
