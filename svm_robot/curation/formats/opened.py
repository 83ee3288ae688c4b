"""What every importer takes and gives."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from svm_robot.curation.rebuild.source import Source


@dataclass(frozen=True)
class ImportOptions:
    """What a person can say about a recording beyond what it says itself."""

    only_whole: bool = False
    """Leave out episodes of which something is missing, instead of refusing the recording."""
    cameras: tuple[str, ...] | None = None
    """Roles of the cameras to keep; none of them: no pictures. None: all."""
    rate_hz: int | None = None
    """Control rate, for formats that do not store it."""
    task: str | None = None
    """The sentence, for formats that do not store one."""
    robot_type: str | None = None
    state: tuple[str, ...] | None = None
    """Observations that make up the state, for formats with many."""
    time: float = 0.0
    """When this is done [s since 1970, UTC]; stands beside the labels."""


@dataclass(frozen=True)
class Opened:
    """A recording that can be imported."""

    source: Source
    kind: str
    """Its format in words, for example ``LeRobot v2.1``."""
    notes: tuple[str, ...] = ()
    """What was changed or left out, one sentence each."""
    left_out: tuple[int, ...] = field(default=())
    """Episodes, by their number in the recording, that are not whole."""


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in words, runs drawn together: ``0 to 3, 7``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join(" to ".join(map(str, run)) for run in runs)
