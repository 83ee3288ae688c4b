"""``svm-robot data stats DATASET``: what is in a dataset."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svm_robot.curation.statistics import DatasetFigures, RangeFigures, TimeFigures

USAGE = "svm-robot data stats DATASET [--json]"
WORST = 5
"""Episodes with the longest gaps that are named."""


@dataclass
class StatsConfig:
    """Reads all numbers and labels; no picture is decoded, nothing is written."""

    json: bool = False  # everything, for programs


def main(args: list[str]) -> int:
    """Count and print."""
    from svm_robot.curation.statistics import dataset_figures
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(StatsConfig, options, usage=USAGE)
    figures = dataset_figures(Path(words[0]))
    if config.json:
        constant = [f"{found.column} {found.name}" for found in figures.ranges if found.constant]
        print(json.dumps({**asdict(figures), "constant": constant}))
    else:
        print("\n".join(lines(figures)))
    return 0


def lines(figures: "DatasetFigures") -> list[str]:
    """The figures in words."""
    told = [
        f"{figures.root}: {figures.episodes} episodes, {figures.frames} frames, {figures.minutes:.1f} minutes "
        f"at {figures.rate_hz:g} Hz, robot {figures.robot_type}",
        f"outcomes: {counted(figures.outcomes)}",
        f"tasks: {counted(figures.tasks)}",
    ]
    for role, camera in figures.cameras.items():
        rate = "" if camera.rate_hz is None else f", delivered {camera.rate_hz:.1f} Hz"
        told.append(
            f"camera {role}: {camera.width}x{camera.height}, {camera.kept_as}, {camera.bytes / 1e6:.2f} MB{rate}"
        )
    told += [range_line(found) for found in figures.ranges]
    if figures.clip_rate is not None:
        told.append(f"actions clipped on the way to the motors: {figures.clip_rate:.1%} of the rows")
    if figures.intervention_rate is not None:
        told.append(f"a human stepped in: {figures.intervention_rate:.1%} of the rows")
    return told + time_lines(figures.times)


def counted(counts: Mapping[str, int]) -> str:
    """How many of each."""
    return ", ".join(f"{count} {name or '(no words)'}" for name, count in counts.items()) or "none"


def range_line(found: "RangeFigures") -> str:
    """One dimension."""
    told = f"{found.column} {found.name}: {found.least:.4g} to {found.greatest:.4g}"
    return f"{told}  CONSTANT" if found.constant else told


def time_lines(times: "tuple[TimeFigures, ...]") -> list[str]:
    """Rates, and where the longest gaps are."""
    if not times:
        return ["times: not recorded"]
    rates = [found.rate_hz for found in times]
    worst = sorted(times, key=lambda found: -found.worst_gap_s)[:WORST]
    gaps = ", ".join(f"{1e3 * found.worst_gap_s:.0f} ms in episode {found.episode}" for found in worst)
    return [
        f"achieved rate: {mean(rates):.2f} Hz on average, {min(rates):.2f} to {max(rates):.2f} Hz",
        f"longest times between two steps: {gaps}",
    ]
