"""Room for recordings."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from svm_robot.drivers.doctor.finding import Finding, note, ok, problem

MB = 1_000_000
KEPT_MB = 200
"""Recording leaves so much free."""
FEW_MINUTES, MANY_MINUTES, PLENTY = 2.0, 30.0, 2880.0


def check_disk(
    root: Path, bytes_per_s: float, guessed: bool, statvfs: Callable[[Path], Any] = os.statvfs
) -> Iterator[Finding]:
    """``root``: where recordings go, there or not. ``bytes_per_s``: what one second of recording takes.

    ``guessed``: that figure comes from picture sizes, not from an earlier recording.
    """
    place = _existing(root)
    if not os.access(place, os.W_OK | os.X_OK):
        yield problem(
            "disk",
            f"nothing can be written to {place}, where {root} would be",
            cause="it belongs to another user, or is mounted read-only",
            next=f"choose another folder with --dataset_root=PATH, or: sudo chown $USER {place}",
        )
        return
    status = statvfs(place)
    free = status.f_bavail * status.f_frsize
    minutes = max(0.0, (free - KEPT_MB * MB) / (60 * bytes_per_s)) if bytes_per_s else float("inf")
    values = {"free_mb": round(free / MB), "mb_per_minute": round(60 * bytes_per_s / MB, 2), "minutes": minutes}
    basis = "guessed from the picture sizes" if guessed else "as in the recordings there"
    left = f"{minutes:.0f} minutes" if minutes < PLENTY else "days"
    what = f"{free / MB:.0f} MB free at {root}: {left} of recording ({basis})"
    if not bytes_per_s:
        yield ok("disk", f"{free / MB:.0f} MB free at {root}", values={"free_mb": round(free / MB)})
    elif minutes < FEW_MINUTES:
        advice = f"make room, or record to another disk with --dataset_root=PATH (now {root})"
        yield problem("disk", what, cause="the disk is nearly full", next=advice, values=values)
    elif minutes < MANY_MINUTES:
        yield note("disk", what, next="make room before a long session", values=values)
    else:
        yield ok("disk", what, values=values)


def _existing(path: Path) -> Path:
    """The nearest folder above that is there."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if folder.exists())
