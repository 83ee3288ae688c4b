"""``svm-robot label DATASET``: list the labels of a dataset, change them, or look at each episode and judge it."""

import getpass
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from svm_robot.errors import ConfigError

if TYPE_CHECKING:
    from svm_robot.data.label_view import EpisodeLabel, LabelView

USAGE = "svm-robot label DATASET [review|undo|history|import FILE|stale MODEL ...] [--episode=3,5-7 --set=failure]"

ACTIONS: dict[str, tuple[str, ...]] = {
    "": ("episode", "set", "reason", "tags", "by", "only", "json"),
    "review": ("episode", "only", "todo_first", "by"),
    "undo": ("episode", "reason", "by"),
    "history": ("episode", "json"),
    "import": ("by", "dry_run"),
    "stale": ("json",),
}
"""Word behind the dataset -> the options that mean something with it."""


@dataclass
class LabelConfig:
    """Without an option: the list of all episodes with the label that counts."""

    episode: str | None = None  # which episodes, by their numbers in the list: 3, or 3,5-7
    set: str | None = None  # their new label: success, failure, unsure or aborted; the old one stays in the history
    reason: str | None = None  # why, for people who read the history later
    tags: str | None = None  # words with commas between them; left out: the old ones stay
    by: str | None = None  # who says so; your login name when left out
    only: str | None = None  # only episodes labelled so, for example unsure,unlabelled
    todo_first: bool = False  # review: unlabelled and unsure episodes first
    dry_run: bool = False  # import: say what would change, change nothing
    json: bool = False  # print JSON

    def check(self, action: str) -> None:
        """Raise ``ConfigError`` for an option that means nothing here."""
        given = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        for name in given:
            if name not in ACTIONS[action]:
                option, places = name.replace("_", "-"), [word or "--set" for word in ACTIONS if name in ACTIONS[word]]
                raise ConfigError(f"--{option} means nothing with '{action or 'label'}', but with {', '.join(places)}")
        if action in ("undo", "history") and self.episode is None:
            raise ConfigError(f"which episode? svm-robot label DATASET {action} --episode=3")
        if action:
            return
        if self.set is None and (self.reason is not None or self.tags is not None or self.by is not None):
            raise ConfigError("--reason, --tags and --by belong to a new label: add --episode and --set")
        if self.set is not None and (self.only is not None or self.json):
            raise ConfigError("--only and --json show, --set changes: give one of the two")
        if (self.episode is None) != (self.set is None):
            raise ConfigError("--episode and --set belong together, for example --episode=3 --set=failure")


def main(args: list[str]) -> int:
    """Do what the word behind the dataset says; without one, list or set."""
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, None)
    config = parse(LabelConfig, options, usage=USAGE)
    root, action, more = Path(words[0]), "".join(words[1:2]), words[2:]
    if action not in ACTIONS:
        known = ", ".join(word for word in ACTIONS if word)
        raise ConfigError(f"'{action}' is nothing to do with labels; there are: {known} (see --help)")
    config.check(action)
    if action == "import" and len(more) == 1:
        return import_file(root, Path(more[0]), config)
    if action == "stale" and more:
        return stale(root, more, config)
    if action in ("import", "stale") or more:
        raise ConfigError(f"expected: {USAGE}; got {' '.join(words)}")
    if action == "review":
        from svm_robot.scripts.label_review import review

        return review(root, config)
    return {"undo": undo, "history": history, "": change if config.set is not None else show}[action](root, config)


def chosen(view: "LabelView", config: LabelConfig) -> "list[EpisodeLabel]":
    """The episodes that ``--episode`` and ``--only`` leave."""
    from svm_robot.data.label_view import KINDS, parse_episodes, parse_kinds

    episodes = list(view.episodes)
    if config.episode is not None:
        episodes = [view.episode(index) for index in parse_episodes(config.episode)]
    kinds = parse_kinds(config.only) if config.only is not None else KINDS
    return [episode for episode in episodes if episode.kind in kinds]


def show(root: Path, config: LabelConfig) -> int:
    """The list."""
    from svm_robot.curation.labels.table import as_json, table
    from svm_robot.data.label_view import read_view

    view = read_view(root)
    shown = chosen(view, config)
    print(json.dumps(as_json(view, shown), indent=2) if config.json else "\n".join(table(view, shown)))
    return 0


def change(root: Path, config: LabelConfig) -> int:
    """Label some episodes, all of them or none, and say what that replaced."""
    from svm_robot.curation.labels.letters import split_tags
    from svm_robot.data.label_view import read_view
    from svm_robot.data.labels import Draft, LabelLog
    from svm_robot.rollout.episode import Outcome

    if config.set is None or config.set not in [*Outcome]:
        raise ConfigError(f"--set={config.set} is no label; the labels are {', '.join(Outcome)}")
    tags = None if config.tags is None else split_tags(config.tags)
    episodes = chosen(read_view(root), config)
    drafts = [Draft(episode.uid, Outcome(config.set), config.reason, tags) for episode in episodes]
    LabelLog(root).set_all(drafts, config.by or login())
    for episode in episodes:
        print(f"episode {episode.index}: {episode.kind} -> {config.set}")
    return 0


def undo(root: Path, config: LabelConfig) -> int:
    """Take back the label that counts."""
    from svm_robot.data.label_view import read_view
    from svm_robot.data.labels import LabelLog
    from svm_robot.errors import DataError

    episodes = chosen(read_view(root), config)
    nothing = [str(episode.index) for episode in episodes if episode.label is None]
    if nothing:
        raise DataError(f"episode {', '.join(nothing)} has no label that could be taken back; nothing was changed")
    for episode in episodes:
        taken = LabelLog(root).undo(episode.uid, config.by or login(), config.reason)
        print(f"episode {episode.index}: {taken.outcome} taken back -> {read_view(root).episode(episode.index).kind}")
    return 0


def history(root: Path, config: LabelConfig) -> int:
    """Everything that was said of some episodes."""
    from dataclasses import asdict

    from svm_robot.curation.labels.table import line
    from svm_robot.data.label_view import read_view
    from svm_robot.data.labels import LabelLog

    log = LabelLog(root)
    said = [(episode.index, label) for episode in chosen(read_view(root), config) for label in log.history(episode.uid)]
    if config.json:
        print(json.dumps([{"episode": index} | asdict(label) for index, label in said], indent=2))
    else:
        print("\n".join(line(index, label) for index, label in said) or "nothing was said of it")
    return 0


def import_file(root: Path, file: Path, config: LabelConfig) -> int:
    """Labels from a table, all of them or none."""
    from svm_robot.curation.labels.from_file import read_plan
    from svm_robot.data.label_view import read_view
    from svm_robot.data.labels import LabelLog
    from svm_robot.errors import DataError

    plan = read_plan(file, read_view(root))
    if plan.problems:
        for problem in plan.problems:
            print(f"{file}, {problem}")
        raise DataError(f"{file} has {len(plan.problems)} wrong rows; nothing was imported")
    for text in plan.rows:
        print(text)
    if not config.dry_run:
        LabelLog(root).set_all(plan.drafts, config.by or login())
    done = "would be given (nothing was changed)" if config.dry_run else "given"
    silent = f", {plan.silent} rows say nothing" if plan.silent else ""
    print(f"{len(plan.drafts)} labels {done}, {plan.already} were so already{silent}")
    return 0


def stale(root: Path, models: list[str], config: LabelConfig) -> int:
    """Whether the labels have changed since these policies, rewards and runs were trained. 0: all are current."""
    from dataclasses import asdict

    from svm_robot.data import load_dataset
    from svm_robot.data.staleness import State, compare, read_trained
    from svm_robot.errors import DataError

    verdicts = compare([read_trained(Path(model)) for model in models], load_dataset(root, frames=False))
    if config.json:
        print(json.dumps([asdict(verdict) for verdict in verdicts], indent=2))
    else:
        print("\n".join(map(str, verdicts)))
    return 0 if all(verdict.state is State.CURRENT for verdict in verdicts) else DataError.exit_code


def login() -> str:
    """The name of the person at the terminal, where the system knows one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "operator"
