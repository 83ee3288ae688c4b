"""``svm-robot label DATASET``: list the labels of a dataset, change one, or show how one came about."""

import getpass
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from svm_robot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from svm_robot.data.labels import Label, LabelLog

USAGE = "svm-robot label DATASET [--episode=3 --set=failure [--reason=...]] [--history=3]"


@dataclass
class LabelConfig:
    """Without an option: the list of all episodes with the label that counts."""

    episode: int | None = None  # number of the episode to label (see the list)
    set: str | None = None  # its new label: success, failure, unsure or aborted; the old one stays in the history
    reason: str | None = None  # why, for people who read the history later
    by: str | None = None  # who says so; your login name when left out
    history: int | None = None  # show everything that was said of this episode

    def __post_init__(self) -> None:
        if (self.episode is None) != (self.set is None):
            raise ConfigError("--episode and --set belong together, for example --episode=3 --set=failure")
        if self.set is None and (self.reason is not None or self.by is not None):
            raise ConfigError("--reason and --by belong to a new label: add --episode and --set")
        if self.set is not None and self.history is not None:
            raise ConfigError("--history shows, --set changes: give one of the two")


def main(args: list[str]) -> int:
    """List, set or show the history."""
    from svm_robot.data.labels import LabelLog, episode_uids
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(LabelConfig, options, usage=USAGE)
    root = Path(words[0])
    uids = {index: uid for uid, index in episode_uids(root).items()}
    log = LabelLog(root)
    if config.set is not None:
        change(log, uids, config)
    elif config.history is not None:
        for label in log.history(uid_of(uids, config.history)):
            print(line(config.history, label))
    else:
        show(log, uids)
    return 0


def change(log: "LabelLog", uids: dict[int, int], config: LabelConfig) -> None:
    """Append one label and say what it replaced."""
    from svm_robot.rollout.episode import Outcome

    assert config.episode is not None
    assert config.set is not None
    if config.set not in [*Outcome]:
        raise ConfigError(f"--set={config.set} is no label; the labels are {', '.join(Outcome)}")
    uid = uid_of(uids, config.episode)
    before = log.current().get(uid)
    log.set(uid, Outcome(config.set), config.by or login(), config.reason)
    print(f"episode {config.episode}: {before.outcome if before else 'unlabelled'} -> {config.set}")


def show(log: "LabelLog", uids: dict[int, int]) -> None:
    """One line for each episode, then the counts."""
    current = log.current()
    for index, uid in sorted(uids.items()):
        label = current.get(uid)
        print(line(index, label) if label else f"{index:4}  {'unlabelled':10}  uid {uid}")
    counts: dict[str, int] = {}
    for uid in uids.values():
        name = str(current[uid].outcome) if uid in current else "unlabelled"
        counts[name] = counts.get(name, 0) + 1
    print(f"{len(uids)} episodes: {', '.join(f'{count} {name}' for name, count in counts.items()) or 'none'}")
    print(f"label snapshot {log.snapshot_hash()}")


def line(index: int, label: "Label") -> str:
    """One label in words."""
    when = datetime.fromtimestamp(label.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    reason = f"  ({label.reason})" if label.reason else ""
    return f"{index:4}  {label.outcome:10}  uid {label.episode_uid}  by {label.by}  {when} UTC{reason}"


def uid_of(uids: dict[int, int], episode: int) -> int:
    """The uid of an episode by its number."""
    if episode not in uids:
        there = f"0 to {len(uids) - 1}" if uids else "no episodes"
        raise DataError(f"there is no episode {episode}; the dataset has {there}")
    return uids[episode]


def login() -> str:
    """The name of the person at the terminal, where the system knows one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "operator"
