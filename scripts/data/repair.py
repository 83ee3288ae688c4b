"""``svm-robot data repair DATASET``: keep every whole episode, set broken pieces aside."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svm_robot.curation.mend.repair import Repaired

USAGE = "svm-robot data repair DATASET [--dry_run] [--trust_changed] [--json]"


@dataclass
class RepairConfig:
    """Nothing is deleted, and a second run changes nothing."""

    dry_run: bool = False  # say what would be done, write nothing
    trust_changed: bool = False  # keep whole episodes whose files changed since they were recorded
    json: bool = False  # print what was done as JSON


def main(args: list[str]) -> int:
    """Plan, tell, and do it."""
    from svm_robot.curation.mend.repair import plan_repair, repair
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(RepairConfig, options, usage=USAGE)
    plan = plan_repair(Path(words[0]), config.trust_changed)
    told = plan.lines()
    if config.dry_run:
        print(json.dumps({"way": plan.way, "plan": told}, indent=2) if config.json else "\n".join(told))
        return 0
    done = repair(plan, time.time)
    print(json.dumps(plain(done), indent=2) if config.json else "\n".join([*told, *lines(done)]))
    return 0


def plain(done: "Repaired") -> dict[str, Any]:
    """What was done as plain values."""
    return {
        "way": done.plan.way,
        "kept": list(done.plan.kept),
        "dropped": {index: [f.text for f in done.plan.report.of(index)] for index in done.plan.dropped},
        "set_aside": [str(path) for path in done.set_aside],
        "backup": str(done.backup) if done.backup else None,
        "episodes": done.after.counted,
        "rows": done.after.rows,
    }


def lines(done: "Repaired") -> list[str]:
    """What came of it in words."""
    root = done.plan.report.root
    told = [f"{root}: {done.after.summary}"] if done.plan.way != "nothing" else []
    return [f"{len(done.set_aside)} pieces lie in {root / 'set_aside'}", *told] if done.set_aside else told
