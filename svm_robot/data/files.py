"""Write whole, then publish: a file is complete and on disk before it gets its name."""

import json
import os
from pathlib import Path
from typing import Any


def sync(path: Path) -> None:
    """Force a file, or the names inside a folder, onto the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def publish(staged: Path, path: Path) -> None:
    """Give a complete file its final name; it is on disk under that name when this returns."""
    sync(staged)
    path.parent.mkdir(parents=True, exist_ok=True)
    staged.replace(path)
    sync(path.parent)


def publish_json(value: Any, path: Path, indent: int | None = None) -> None:
    """Write JSON as one whole: a reader sees the old file or the new one, never a part."""
    staged = path.with_name(f".{path.name}.new")
    staged.write_text(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    publish(staged, path)
