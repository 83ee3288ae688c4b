"""``svm-robot data check DATASET``: say for each episode whether it is whole, and change nothing."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svm_robot.curation.check.examine import Report

USAGE = "svm-robot data check DATASET [--deep] [--json]"


@dataclass
class CheckConfig:
    """Exit code 0: whole. 3: something is wrong. Nothing is written."""

    deep: bool = False  # decode every frame, also of files that still are what was recorded, byte for byte
    json: bool = False  # print the report as JSON


def main(args: list[str]) -> int:
    """Examine, tell, and name the next step."""
    from svm_robot.curation.check.examine import check_dataset
    from svm_robot.errors import DataError
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(CheckConfig, options, usage=USAGE)
    report = check_dataset(Path(words[0]), deep=config.deep)
    print(json.dumps(plain(report), indent=2) if config.json else "\n".join(lines(report)))
    return 0 if report.ok else DataError.exit_code


def plain(report: "Report") -> dict[str, Any]:
    """The report as plain values."""
    findings, notes = (
        [{"episode": found.episode, "kind": found.kind, "text": found.text} for found in group]
        for group in (report.findings, report.notes)
    )
    return {
        "root": str(report.root),
        "ok": report.ok,
        "counted": report.counted,
        "rows": report.rows,
        "verified": list(report.verified),
        "findings": findings,
        "notes": notes,
        "leftovers": [str(path) for path in report.leftovers],
        "advice": report.advice,
    }


def lines(report: "Report") -> list[str]:
    """The report in words: what is wrong, what is odd, the sum, and what to do."""
    from svm_robot.curation.check.findings import told

    notes = [f"note: {note.text}" for note in report.notes]
    advice = [report.advice] if report.advice else []
    return [*told(report.findings), *notes, f"{report.root}: {report.summary}", *advice]
