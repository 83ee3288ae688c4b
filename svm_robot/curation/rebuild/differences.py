"""In what two datasets differ, and whether they can be one all the same."""

from collections.abc import Sequence
from pathlib import Path

from svm_robot.curation.rebuild.source import Source
from svm_robot.data import columns
from svm_robot.data.layout import is_picture
from svm_robot.data.schema import Feature, compare
from svm_robot.errors import DataError
from svm_robot.recording.resume import other_devices, other_units

CODING = ("video.codec", "video.pix_fmt")


def check_mergeable(one: Path, first: Source, other: Path, second: Source) -> list[str]:
    """What is worth a note. Raises ``DataError`` that lists everything in which the shapes differ."""
    ours, theirs = first.info["features"], second.info["features"]
    barred = latents(ours, theirs)
    barred += [found for found in compare(first.info, second.info) if not found.startswith(f"column {columns.LATENT}:")]
    barred += kinds(ours, theirs)
    before, after = first.provenance.latest_rig, second.provenance.rig
    notes = codings(ours, theirs)
    if before is not None and after is not None:
        barred += other_units(before, after)
        notes += other_devices(before, after)
    if barred:
        found = "; ".join(between(barred, one, other))
        raise DataError(f"{one} and {other} cannot be one dataset: {found}. Nothing was written")
    return between(notes, one, other)


def between(texts: Sequence[str], one: Path, other: Path) -> list[str]:
    """The words of a comparison of a dataset with a rig, for two datasets."""
    return [text.replace("in the dataset", f"in {one}").replace("on the rig", f"in {other}") for text in texts]


def latents(ours: dict[str, Feature], theirs: dict[str, Feature]) -> list[str]:
    """A policy's noise cannot be made up for episodes that were recorded without it."""
    if columns.LATENT in ours and columns.LATENT in theirs:
        return [] if ours[columns.LATENT]["shape"] == theirs[columns.LATENT]["shape"] else [length(ours, theirs)]
    sides = [columns.LATENT in table for table in (ours, theirs)]
    if sides[0] == sides[1]:
        return []
    has, lacks = ("in the dataset", "on the rig") if sides[0] else ("on the rig", "in the dataset")
    return [
        f"only the episodes {has} have the policy's noise ({columns.LATENT}), and none can be made up for those {lacks}"
    ]


def length(ours: dict[str, Feature], theirs: dict[str, Feature]) -> str:
    """Noise of different lengths, in words."""
    before, after = (side[columns.LATENT]["shape"][0] for side in (ours, theirs))
    return f"the policy's noise ({columns.LATENT}) has {before} numbers in the dataset, {after} on the rig"


def kinds(ours: dict[str, Feature], theirs: dict[str, Feature]) -> list[str]:
    """Cameras kept as video on one side and as single pictures on the other."""
    found = []
    for key in sorted(ours.keys() & theirs.keys()):
        before, after = ours[key]["dtype"], theirs[key]["dtype"]
        if key.startswith(columns.IMAGES) and before != after:
            found.append(f"camera {key.removeprefix(columns.IMAGES)}: {before} in the dataset, {after} on the rig")
    return found


def codings(ours: dict[str, Feature], theirs: dict[str, Feature]) -> list[str]:
    """Videos coded in another way: they lie in files of their own, so each stays what it is."""
    notes = []
    for key, feature in ours.items():
        if key in theirs and is_picture(feature, "video"):
            before, after = (
                [str((side.get("info") or {}).get(name)) for name in CODING] for side in (feature, theirs[key])
            )
            if before != after:
                role = key.removeprefix(columns.IMAGES)
                notes.append(
                    f"camera {role}: {' '.join(before)} in the dataset, {' '.join(after)} on the rig; both stay"
                )
    return notes
