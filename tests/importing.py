"""Importing with the source watched: it must stay what it was."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.formats.opened import ImportOptions, Opened
from svm_robot.curation.formats.recording import open_recording
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.data.provenance import Provenance
from svm_robot.errors import DataError


def tree_hash(root: Path) -> str:
    """Of every name and byte below a folder (or of a file)."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def imported(source: Path, target: Path, only: slice = slice(None), **options: Any) -> Opened:
    """Import all episodes, or some of them, and check the result to the last frame."""
    before = tree_hash(source)
    opened = open_recording(source, "auto", ImportOptions(**options))
    rebuild(target, opened.source.info, opened.source.episodes[only], opened.source.labels, Provenance())
    assert tree_hash(source) == before
    assert check_dataset(target, deep=True).ok
    return opened


def refusal(source: Path, **options: Any) -> str:
    """Why a recording is refused."""
    before = tree_hash(source)
    with pytest.raises(DataError) as caught:
        open_recording(source, "auto", ImportOptions(**options))
    assert tree_hash(source) == before
    return str(caught.value)
