"""``svm-robot data delete DATASET``: a dataset without some of its episodes."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from svm_robot.errors import ConfigError

USAGE = "svm-robot data delete DATASET --episodes=3,5-7 (--out=NEW | --replace) [--dry_run]"


@dataclass
class DeleteConfig:
    """Builds a new dataset; the old one stays, beside it or under another name."""

    episodes: str  # numbers of the episodes to leave out, such as 3,5-7
    out: str | None = None  # folder of the new dataset
    replace: bool = False  # put the new dataset in the place of the old one, which is kept as NAME.before-1
    dry_run: bool = False  # only say what would happen

    def __post_init__(self) -> None:
        if (self.out is None) != self.replace:
            raise ConfigError("say where the result goes: --out=NEW, or --replace to keep the name")


def main(args: list[str]) -> int:
    """Plan, then build or only tell."""
    from svm_robot.curation.rebuild.edit import plan_delete
    from svm_robot.curation.rebuild.place import nobody_else
    from svm_robot.data.label_view import parse_episodes
    from svm_robot.scripts.cli import parse, split_positionals
    from svm_robot.scripts.data.perform import perform

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(DeleteConfig, options, usage=USAGE)
    root, out = Path(words[0]), None if config.out is None else Path(config.out)
    with nobody_else(root) if config.replace and not config.dry_run else nullcontext():
        plan = plan_delete(root, parse_episodes(config.episodes), out, time.time)
        return perform(plan, config.dry_run)
