"""Labels that say at which frames of an episode success is seen, as reward classifiers are trained from them.

``null``: at none. ``{"success_start": 34}``: from this frame to the end. ``{"success_start": 41, "success_end": 43}``
and ``{"ranges": [[40, 48], [60, null]]}``: success can be lost again. ``exclude`` names frames to leave out.
Ours are labels of whole episodes: an episode that ENDS in success is one, an episode without is a failure. One that had
success and lost it is for a person to decide, so it becomes unsure. The frames are kept in the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svm_robot.data.label_view import EpisodeLabel
from svm_robot.data.labels import Draft
from svm_robot.errors import DataError
from svm_robot.rollout.episode import Outcome

NAMES = ("success_start", "success_end", "ranges", "exclude")

Range = tuple[int, int | None]
"""First and last frame; no last one: to the end of the episode."""


@dataclass(frozen=True)
class Ranges:
    """Where success is seen in an episode."""

    success: tuple[Range, ...] = ()
    exclude: tuple[int, ...] = ()


def as_ranges(value: Mapping[str, Any] | None) -> Ranges:
    """From the JSON form. Raises ``DataError`` for anything else."""
    if value is None:
        return Ranges()
    unknown = [name for name in value if name not in NAMES]
    if unknown or not {"success_start", "ranges"} & set(value):
        raise DataError(f"frames of success are given by {', '.join(NAMES)}; got {', '.join(value) or 'nothing'}")
    pairs = value["ranges"] if "ranges" in value else [[value["success_start"], value.get("success_end")]]
    exclude = value.get("exclude", [])
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise DataError(f"ranges are pairs of frames, for example [[40, 48], [60, null]]; got {pairs}")
    numbers = [frame for pair in pairs for frame in pair if frame is not None]
    if any(pair[0] is None for pair in pairs) or not isinstance(exclude, list) or not whole([*numbers, *exclude]):
        raise DataError("a frame is a whole number from 0")
    success = tuple((int(first), None if last is None else int(last)) for first, last in pairs)
    for (first, last), after in zip(success, [*success[1:], None], strict=True):
        if last is not None and last < first:
            raise DataError(f"frames {first} to {last} run backwards")
        if after is not None and (last is None or after[0] <= last):
            raise DataError(f"frames {in_words((first, last))} and {in_words(after)} overlap, or are not in order")
    return Ranges(success, tuple(exclude))


def of_ranges(episode: EpisodeLabel, ranges: Ranges) -> Draft:
    """The label of the whole episode. Raises ``DataError`` for frames that it does not have."""
    end = episode.length - 1
    for frame in [frame for pair in ranges.success for frame in pair if frame is not None] + list(ranges.exclude):
        if frame > end:
            raise DataError(f"frame {frame} is said to be in episode {episode.index}, whose last one is {end}")
    left_out = f"; frames {', '.join(map(str, ranges.exclude))} excluded" if ranges.exclude else ""
    if not ranges.success:
        return Draft(episode.uid, Outcome.FAILURE, f"no frame of success{left_out}")
    last = ranges.success[-1][1]
    frames = f"success in frames {', '.join(map(in_words, ranges.success))}{left_out}"
    if last is None or last == end:
        return Draft(episode.uid, Outcome.SUCCESS, frames)
    return Draft(episode.uid, Outcome.UNSURE, f"{frames}, not at the end: decide")


def in_words(frames: Range) -> str:
    """``41-43``, or ``60 to the end``."""
    first, last = frames
    return f"{first} to the end" if last is None else f"{first}-{last}"


def whole(frames: list[Any]) -> bool:
    """True for whole numbers from 0 (JSON's ``true`` is none)."""
    return all(isinstance(frame, int) and not isinstance(frame, bool) and frame >= 0 for frame in frames)
