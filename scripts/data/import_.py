"""``svm-robot data import SOURCE --out=NEW``: a v3 dataset from a recording in another format."""

import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from svm_robot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from svm_robot.curation.formats.opened import ImportOptions, Opened

USAGE = "svm-robot data import SOURCE --out=NEW [--from=auto|lerobot|hdf5|hilserl] [--only_whole] [--dry_run]"


@dataclass
class ImportConfig:
    """LeRobot v2.0, v2.1 and v3.0, robomimic's HDF5, and HIL-SERL transitions. The source is never changed."""

    out: str  # folder of the new dataset; must not exist
    from_: Literal["auto", "lerobot", "hdf5", "hilserl"] = "auto"  # the source's format; auto: by its names
    only_whole: bool = False  # leave out episodes of which something is missing, instead of refusing
    without_videos: bool = False  # leave all cameras out
    cameras: str | None = None  # the cameras to keep, by role, with commas between them
    fps: int | None = None  # control rate [Hz], for formats that do not store it
    task: str | None = None  # what the robot did, for formats that do not store it
    robot_type: str | None = None  # name of the robot; LeRobot datasets say it themselves
    state: str | None = None  # HDF5 and HIL-SERL: observations that make up the state, with commas between them
    dry_run: bool = False  # say what would be done, write nothing
    json: bool = False  # print the result as JSON

    def __post_init__(self) -> None:
        if self.without_videos and self.cameras is not None:
            raise ConfigError("--without_videos and --cameras contradict each other: give one of the two")
        if self.fps is not None and self.fps < 1:
            raise ConfigError(f"--fps={self.fps}; a rate is at least 1 Hz")


def main(args: list[str]) -> int:
    """Open, build, tell."""
    from svm_robot.curation.formats.recording import open_recording
    from svm_robot.curation.rebuild.ancestry import derive
    from svm_robot.curation.rebuild.place import check_target
    from svm_robot.curation.rebuild.rebuild import rebuild
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(ImportConfig, options, usage=USAGE)
    source, target, now = Path(words[0]), Path(config.out), time.time()
    check_target(target, replace=False)
    if source.resolve() in target.resolve().parents:
        raise DataError(f"--out={target} lies inside the source, which is never changed; choose another folder")
    opened = open_recording(source, config.from_, wishes(config, now))
    if not config.dry_run:
        found = opened.source
        named = replace(found, name=f"{found.name} ({opened.kind})")
        provenance = derive(found.provenance, "svm-robot data import", [(named, len(found.episodes))], now)
        rebuild(target, found.info, found.episodes, found.labels, provenance, progress=progress(config))
    told = plain(opened, target, config.dry_run)
    print(json.dumps(told, indent=2) if config.json else "\n".join(lines(told)))
    return 0


def wishes(config: ImportConfig, now: float) -> "ImportOptions":
    """The options as the importers take them."""
    from svm_robot.curation.formats.opened import ImportOptions

    return ImportOptions(
        only_whole=config.only_whole,
        cameras=() if config.without_videos else listed(config.cameras),
        rate_hz=config.fps,
        task=config.task,
        robot_type=config.robot_type,
        state=listed(config.state),
        time=now,
    )


def listed(text: str | None) -> tuple[str, ...] | None:
    """Words with commas between them."""
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())


def progress(config: ImportConfig) -> Any:
    """A line that the next one covers, for a person at a terminal."""

    def tell(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[Kepisode {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return tell


def plain(opened: "Opened", target: Path, dry_run: bool) -> dict[str, Any]:
    """The result as plain values."""
    from collections import Counter

    from svm_robot.data.labels import stacks

    source = opened.source
    said = [lines[-1].outcome for lines in stacks(source.labels).values() if lines]
    return {
        "source": source.name,
        "format": opened.kind,
        "out": str(target),
        "dry_run": dry_run,
        "episodes": len(source.episodes),
        "frames": sum(episode.length for episode in source.episodes),
        "rate_hz": source.info["fps"],
        "left_out": list(opened.left_out),
        "labels": {str(outcome): count for outcome, count in Counter(said).items()},
        "notes": list(opened.notes),
    }


def lines(told: dict[str, Any]) -> list[str]:
    """The same in words."""
    from svm_robot.curation.formats.opened import ranges

    found = [f"note: {note}" for note in told["notes"]]
    if told["left_out"]:
        found.append(f"left out, because they are not whole: episodes {ranges(told['left_out'])}")
    labels = ", ".join(f"{count} {outcome}" for outcome, count in told["labels"].items()) or "none labelled"
    what = f"{told['episodes']} episodes ({labels}), {told['frames']} frames at {told['rate_hz']} Hz"
    verb = "would import" if told["dry_run"] else "imported"
    found.append(f"{verb} {told['format']} {told['source']}: {what} into {told['out']}")
    if not told["dry_run"]:
        found.append(f"next: svm-robot data check {told['out']} --deep; svm-robot label {told['out']}")
    return found
