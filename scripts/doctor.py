"""``svm-robot doctor RIG``: look at everything a rig names, move nothing, say what to mend."""

import json
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError, DeviceError

if TYPE_CHECKING:
    from svm_robot.drivers.doctor.finding import Finding

USAGE = "svm-robot doctor RIG [--json] [--full] [--thumbnails=runs/doctor]"
VIDEO_BYTES_PER_PIXEL = 0.15
"""A cautious guess for encoded video."""


@dataclass(kw_only=True)
class DoctorConfig(RigConfig):
    """Options of an examination, beside those of the rig. Moves nothing and changes no torque."""

    json: bool = False  # print the findings as JSON
    full: bool = False  # also look under every motor id and at every baud rate, and watch for 10 s; takes a minute
    thumbnails: str = "runs/doctor"  # folder for a small picture of each camera; empty: none
    reads: int = 500  # how often each motor is read for round trips and errors

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 20 <= self.reads <= 100_000:
            raise ConfigError(f"reads is {self.reads}; it must be from 20 to 100000")


def main(args: list[str]) -> int:
    """Print findings as they come. Exit code 0: no problem; 5: at least one."""
    from svm_robot.drivers.cameras.quiet import told_once
    from svm_robot.drivers.doctor.examine import Tools, examine, is_fine
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(DoctorConfig, options, rig=words[0], usage=USAGE)
    bytes_per_s, guessed = recording_bytes_per_s(config)
    tools = Tools(
        keep=(lambda role, picture: kept(Path(config.thumbnails), role, picture)) if config.thumbnails else None,
        bytes_per_s=bytes_per_s,
        guessed=guessed,
        reads=config.reads,
        seconds=10.0 if config.full else 3.0,
        full=config.full,
    )
    findings = []
    with told_once(), closing(examine(config, tools)) as coming:  # type: ignore[type-var]
        for finding in coming:
            findings.append(finding)
            if not config.json:
                print("\n".join(lines(finding)), flush=True)
    fine = is_fine(findings)
    if config.json:
        rows = [finding.to_json() for finding in findings]
        print(json.dumps({"fine": fine, "findings": rows}, indent=2))
    else:
        print(summary(findings))
    return 0 if fine else DeviceError.exit_code


def lines(finding: "Finding") -> list[str]:
    """One finding as text."""
    place = f"{finding.place}: " if finding.place else ""
    more = {"cause": finding.cause, "next": finding.next}
    return [
        f"{finding.level:8}{finding.check:12}{place}{finding.what}",
        *(f"{'':20}{name}: {text}" for name, text in more.items() if text),
    ]


def summary(findings: "list[Finding]") -> str:
    """The last line."""
    counts = {level: sum(finding.level == level for finding in findings) for level in ("problem", "note", "ok")}
    told = f"{counts['problem']} problems, {counts['note']} notes, {counts['ok']} fine; nothing was moved"
    return told if counts["problem"] else f"{told}. Next: svm-robot teleop RIG"


def kept(folder: Path, role: str, picture: Any) -> str:
    """Write the small picture of a camera and say where."""
    from svm_robot.scripts.thumbnails import write_thumbnail

    path = folder / f"{role}.jpg"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_thumbnail(picture, path)
    except OSError as error:
        print(f"note: no picture of '{role}': {error.strerror}: {folder}", file=sys.stderr)
        return ""
    return str(path)


def recording_bytes_per_s(config: RigConfig) -> tuple[float, bool]:
    """(bytes, guessed): what a second of recording takes, from the dataset that is there, else from picture sizes."""
    root = Path(config.dataset_root)
    try:
        frames = int(json.loads((root / "meta" / "info.json").read_text())["total_frames"])
    except (OSError, ValueError, KeyError, TypeError):
        frames = 0
    if frames:
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        return size / frames * config.rate_hz, False
    cameras = getattr(config.robot, "cameras", {}).values()
    pixels = sum((camera.height or 0) * (camera.width or 0) for camera in cameras)
    return pixels * VIDEO_BYTES_PER_PIXEL * config.rate_hz, True
