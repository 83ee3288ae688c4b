"""From command line to frozen configuration: positional words, a YAML rig file, and LeRobot-style overrides."""

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import draccus
import yaml

from svm_robot.errors import ConfigError


def split_positionals(args: Sequence[str], usage: str, least: int, most: int | None) -> tuple[list[str], list[str]]:
    """Split leading plain words from the options after them. ``most`` None: any number. Prints ``usage`` when wrong."""
    words: list[str] = []
    for arg in args:
        if arg.startswith("-"):
            break
        words.append(arg)
    options = list(args[len(words) :])
    asks_help = any(option in ("-h", "--help") for option in options)
    if not asks_help and (len(words) < least or (most is not None and len(words) > most)):
        raise ConfigError(f"expected {usage}, got {' '.join(words) or 'nothing'}")
    return words, options


def parse[C](config_class: type[C], options: Sequence[str], rig: str | None = None, usage: str = "") -> C:
    """Build ``config_class`` from an optional YAML file and ``--a.b=c`` overrides.

    Raises ``ConfigError`` with file, line and field instead of a traceback.
    """
    if rig is not None:
        check_yaml(Path(rig))
    complaint = io.StringIO()  # argparse prints its whole usage, which is hundreds of lines, before the one that helps
    try:
        if any(option in ("-h", "--help") for option in options):
            print(f"usage: {usage}")
        with redirect_stderr(complaint):
            return draccus.parse(config_class, config_path=rig, args=list(options))  # type: ignore[no-any-return]
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        reason = complaint.getvalue().rstrip().rpartition("error: ")[2]
        raise ConfigError(f"{reason} (see --help)") from None
    except (draccus.utils.DecodingError, draccus.ParsingError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(one_line(error, rig)) from error


def check_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping; name file and line when it is not one."""
    if not path.is_file():
        raise ConfigError(f"no such rig file: {path} (rigs that ship: rigs/*.yaml)")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
        raise ConfigError(f"{where}: {error.problem}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected 'key: value' lines, got {type(content).__name__}")
    return content


def one_line(error: Exception, rig: str | None) -> str:
    """The message of a draccus error on one line, with the file it came from.

    draccus wraps what a config's own checks say into "couldn't instantiate"; the check's words are the useful ones.
    """
    cause: BaseException = error
    while cause.__cause__ is not None and not isinstance(cause, ConfigError):
        cause = cause.__cause__
    text = " ".join(str(cause if isinstance(cause, ConfigError) else error).split())
    return f"{rig}: {text}" if rig else text


def warn(text: str) -> None:
    """A note for the person at the terminal, kept out of standard output."""
    print(f"note: {text}", file=sys.stderr)
