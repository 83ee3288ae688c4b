"""``svm-robot data SUBCOMMAND DATASET ...``: examine, mend, cut, join and convert datasets."""

import difflib
import importlib

from svm_robot.errors import ConfigError

USAGE = "svm-robot data SUBCOMMAND DATASET ..."

SUBCOMMANDS: dict[str, str] = {
    "check": "say for each episode whether it is whole",
    "repair": "keep every whole episode, set broken pieces aside",
    "stats": "episodes, outcomes, cameras, ranges, rates",
    "delete": "a dataset without some of its episodes",
    "merge": "one dataset from several",
    "split": "several datasets from one",
    "import": "a v3 dataset from other formats",
    "export": "a copy for LeRobot's own tools",
}


def main(args: list[str]) -> int:
    """The first word decides."""
    if not args or args[0] in ("-h", "--help"):
        print(usage())
        return 0
    name = args[0].replace("_", "-")
    if name not in SUBCOMMANDS:
        near = difflib.get_close_matches(name, SUBCOMMANDS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(SUBCOMMANDS)}"
        raise ConfigError(f"unknown subcommand '{args[0]}'; {hint}")
    return int(importlib.import_module(f"{__name__}.{module_name(name)}").main(args[1:]))


def module_name(subcommand: str) -> str:
    """The file of a subcommand in this folder; ``import`` is a word of the language."""
    return "import_" if subcommand == "import" else subcommand


def usage() -> str:
    """Every subcommand with one line."""
    width = max(map(len, SUBCOMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {what}" for name, what in SUBCOMMANDS.items())
    return f"usage: {USAGE}\n\n{rows}\n\nsvm-robot data SUBCOMMAND --help shows what a subcommand takes."
