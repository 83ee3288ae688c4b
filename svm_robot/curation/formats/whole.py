"""What a recording lacks, said in words, and which of its episodes are whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from svm_robot.curation.formats.features import Plan
from svm_robot.curation.formats.opened import ImportOptions, ranges
from svm_robot.data import columns
from svm_robot.errors import DataError

ROWS = "rows"
"""What is missing when it is not a camera's pictures."""


class Numbered(Protocol):
    """An episode with its number in the recording."""

    @property
    def number(self) -> int: ...


@dataclass(frozen=True)
class Missing:
    """Why episodes of a recording are not whole."""

    root: Path
    total: int
    """Episodes that the metadata counts."""
    cameras: int = 0
    """Cameras that are wanted."""
    reasons: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """(``ROWS`` or a camera's column, in words) -> episodes."""

    def add(self, number: int, what: str, reason: str) -> None:
        """Note what one episode lacks."""
        self.reasons.setdefault((what, reason), []).append(number)

    def misses(self, number: int) -> bool:
        """True when something of this episode is missing."""
        return any(number in numbers for numbers in self.reasons.values())

    def numbers(self) -> tuple[int, ...]:
        """Episodes that are not whole."""
        return tuple(sorted({number for numbers in self.reasons.values() for number in numbers}))

    def lacking(self, what: str) -> int:
        """How many episodes lack a camera, or their rows."""
        return len({number for (key, _), numbers in self.reasons.items() if key == what for number in numbers})

    def __str__(self) -> str:
        found = [
            f"{'' if what == ROWS else f'camera {role_of(what)}: '}{reason} "
            f"({len(numbers)} of {self.total} episodes: {ranges(numbers)})"
            for (what, reason), numbers in self.reasons.items()
        ]
        more = f"; and {len(found) - 5} more reasons" if len(found) > 5 else ""
        return "; ".join(found[:5]) + more


def role_of(key: str) -> str:
    """Camera role of a column."""
    return key.removeprefix(columns.IMAGES).removeprefix("observation.")


def restrict(plan: Plan, options: ImportOptions) -> Plan:
    """The plan with the wanted cameras only. Raises ``DataError`` for one that the recording does not have."""
    pictures = [*plan.cameras, *(key for key, feature in plan.features.items() if feature["dtype"] == "image")]
    dropped = left_out({role_of(key): key for key in pictures}, options)
    note = (f"left out as asked: camera {', '.join(map(role_of, sorted(dropped)))}",) if dropped else ()
    return replace(
        plan,
        features={key: feature for key, feature in plan.features.items() if key not in dropped},
        cameras={key: feature for key, feature in plan.cameras.items() if key not in dropped},
        notes=plan.notes + note,
    )


def left_out(pictures: Mapping[str, str], options: ImportOptions) -> set[str]:
    """Of camera role -> column the columns that are not wanted. Raises ``DataError`` for a role that is not there."""
    if options.cameras is None:
        return set()
    unknown = [role for role in options.cameras if role not in pictures]
    if unknown:
        there = ", ".join(pictures) or "no cameras"
        raise DataError(f"no camera {', '.join(unknown)} in the recording; it has {there}")
    return {key for role, key in pictures.items() if role not in options.cameras}


def whole_ones[P: Numbered](pieces: Sequence[P], missing: Missing, options: ImportOptions) -> list[P]:
    """The episodes to import. Raises ``DataError`` that says what is missing, unless that was waived."""
    if missing.reasons and not (options.only_whole and pieces):
        raise DataError(f"{missing.root} is not whole: {missing}. {advice(pieces, missing)}")
    if not pieces:
        raise DataError(f"{missing.root} holds no episodes: there is nothing to import")
    return list(pieces)


def advice(pieces: Sequence[Numbered], missing: Missing) -> str:
    """What a person can do about it."""
    if missing.lacking(ROWS) == missing.total:
        return "The data files are missing: fetch them, then import again"
    ways = []
    if pieces:
        ways.append(f"the {len(pieces)} whole episodes alone with --only_whole")
    full = missing.total - missing.lacking(ROWS)
    absent = {key for key, _ in missing.reasons if key != ROWS and missing.lacking(key) >= full}
    others = {key for key, _ in missing.reasons} - absent - {ROWS}
    if absent and (others or len(absent) < missing.cameras):
        ways.append(f"without the camera {', '.join(map(role_of, sorted(absent)))}: name the others in --cameras")
    if any(key != ROWS for key, _ in missing.reasons):
        ways.append("without pictures with --without_videos")
    elif not pieces:
        return "No episode is whole: fetch what is missing, then import again"
    return f"Import {'; or '.join(ways)}"
