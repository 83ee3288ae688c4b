"""Builds a dataset from episodes of others: beside its place, verified, and only then put there."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svm_robot.curation.source import SourceEpisode
from svm_robot.data.labels import Label
from svm_robot.data.provenance import Provenance

Progress = Callable[[int, int], None]
"""Told (episodes done, episodes in all)."""


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild made."""

    root: Path
    episodes: int
    frames: int
    backup: Path | None
    """Where the replaced dataset lies now."""
    encoded: tuple[str, ...]
    """Clips whose pictures had to be encoded, in words; all others were copied as they were."""


def rebuild(
    target: Path,
    info: dict[str, Any],
    episodes: Iterable[SourceEpisode],
    labels: Sequence[Label],
    provenance: Provenance,
    *,
    replace: bool = False,
    bake_labels: bool = False,
    progress: Progress | None = None,
) -> Rebuilt:
    """Build the dataset ``target`` of exactly these episodes, in this order."""
    raise NotImplementedError(target)
