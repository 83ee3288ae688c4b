"""``svm-robot data split DATASET``: several datasets from one, episode by episode."""

import time
from dataclasses import dataclass
from pathlib import Path

from svm_robot.errors import ConfigError

USAGE = "svm-robot data split DATASET (--parts=train:0.8,val:0.2 | --episodes=train:0-7,val:8,9) --out=FOLDER"


@dataclass
class SplitConfig:
    """Each part becomes a dataset FOLDER/NAME. No episode is in two parts."""

    out: str  # folder for the new datasets; must not exist yet
    parts: str | None = None  # NAME:SHARE of each part; the shares add up to 1
    episodes: str | None = None  # NAME:EPISODES of each part, by hand; episodes that are not named are left out
    stratify: bool = True  # every part gets its share of successes, of failures, and so on
    seed: int = 0  # another seed draws other episodes; the same one always the same
    dry_run: bool = False  # only say what would happen

    def __post_init__(self) -> None:
        if (self.parts is None) == (self.episodes is None):
            raise ConfigError("give either --parts=train:0.8,val:0.2 or --episodes=train:0-7,val:8,9")
        if self.seed < 0:
            raise ConfigError(f"seed is {self.seed}; it cannot be negative")


def main(args: list[str]) -> int:
    """Draw the parts, plan, then build or only tell."""
    from svm_robot.curation.rebuild.edit import plan_split
    from svm_robot.curation.rebuild.parts import allot, parse_lists, parse_shares
    from svm_robot.data.label_view import read_view
    from svm_robot.scripts.cli import parse, split_positionals
    from svm_robot.scripts.data.perform import perform

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(SplitConfig, options, usage=USAGE)
    root = Path(words[0])
    if config.parts is not None:
        shares, episodes = parse_shares(config.parts), read_view(root).episodes
        parts = allot(shares, [episode.kind if config.stratify else "" for episode in episodes], config.seed)
    else:
        assert config.episodes is not None
        parts = parse_lists(config.episodes)
    return perform(plan_split(root, parts, Path(config.out), time.time), config.dry_run)
