"""``svm-robot data merge DATASET DATASET ...``: one dataset from several."""

import time
from dataclasses import dataclass
from pathlib import Path

USAGE = "svm-robot data merge DATASET DATASET ... --out=NEW [--dry_run]"


@dataclass
class MergeConfig:
    """All episodes, in the order in which the datasets are given, with their labels."""

    out: str  # folder of the new dataset
    dry_run: bool = False  # only say what would happen


def main(args: list[str]) -> int:
    """Plan, then build or only tell."""
    from svm_robot.curation.rebuild.edit import plan_merge
    from svm_robot.scripts.cli import parse, split_positionals
    from svm_robot.scripts.data.perform import perform

    words, options = split_positionals(args, USAGE, 2, None)
    config = parse(MergeConfig, options, usage=USAGE)
    return perform(plan_merge([Path(word) for word in words], Path(config.out), time.time), config.dry_run)
