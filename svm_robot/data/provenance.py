"""Where a dataset comes from: the rig it was recorded on, and the datasets it was made from."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from svm_robot.data.files import publish_json
from svm_robot.errors import DataError

FILE = Path("meta/provenance.json")
VERSION = 1


@dataclass(frozen=True)
class RigRecord:
    """The robot cell behind a recording, as far as it matters for adding to it."""

    robot_type: str
    robot_id: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    """One for each joint, for example ``deg`` or ``%``."""
    calibration: str
    """16-digit hash of the calibration in force; empty when unknown."""
    cameras: Mapping[str, str]
    """Camera role -> what identifies the device."""


@dataclass(frozen=True)
class Origin:
    """One dataset that went into another."""

    name: str
    fingerprint: str
    """As ``Dataset.fingerprint``."""
    episodes: int
    """How many of its episodes were taken."""


@dataclass(frozen=True)
class Derivation:
    """One step in which a dataset was made from others."""

    tool: str
    """The command, for example ``svm-robot data delete``."""
    version: str
    sources: tuple[Origin, ...]
    time: float
    """Wall clock, seconds since 1970 (UTC): for people only."""


@dataclass(frozen=True)
class RigChange:
    """Recording went on with another calibration, camera device or robot, and a person said that this is right."""

    episode: int
    """The first one recorded since."""
    what: tuple[str, ...]
    """The differences in words."""
    rig: RigRecord
    time: float
    """Wall clock, seconds since 1970 (UTC): for people only."""


@dataclass(frozen=True)
class Provenance:
    """Everything known; a dataset from elsewhere has none."""

    rig: RigRecord | None = None
    """What the first episode was recorded on."""
    derived: tuple[Derivation, ...] = ()
    """Oldest first."""
    changes: tuple[RigChange, ...] = ()
    """Oldest first."""

    @property
    def latest_rig(self) -> RigRecord | None:
        """What the last episode was recorded on."""
        return self.changes[-1].rig if self.changes else self.rig


def read_provenance(root: Path) -> Provenance:
    """What the dataset at ``root`` says of itself; empty where nothing. Raises ``DataError`` for a torn file."""
    path = root / FILE
    if not path.is_file():
        return Provenance()
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is damaged ({type(error).__name__}: {error})") from error


def write_provenance(provenance: Provenance, root: Path) -> None:
    """Replace the file; on disk when this returns."""
    publish_json({"version": VERSION, **asdict(provenance)}, root / FILE, indent=4)


def from_json(plain: dict[str, Any]) -> Provenance:
    """The inverse of what ``write_provenance`` writes."""
    if plain["version"] != VERSION:
        raise DataError(f"{FILE} has version {plain['version']}, this tool reads {VERSION}; update svm_robot")
    rig = None if plain["rig"] is None else rig_from(plain["rig"])
    derived = (
        Derivation(**{**step, "sources": tuple(Origin(**origin) for origin in step["sources"])})
        for step in plain["derived"]
    )
    changes = (
        RigChange(**{**change, "what": tuple(change["what"]), "rig": rig_from(change["rig"])})
        for change in plain.get("changes", ())
    )
    return Provenance(rig, tuple(derived), tuple(changes))


def rig_from(plain: dict[str, Any]) -> RigRecord:
    """One rig of the file."""
    return RigRecord(**{**plain, "joints": tuple(plain["joints"]), "units": tuple(plain["units"])})
