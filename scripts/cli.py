"""From command line to configuration: positional words, a YAML rig file, and LeRobot-style overrides."""

import io
import json
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import draccus

from svm_robot.errors import ConfigError
from svm_robot.scripts.help_text import help_text
from svm_robot.scripts.options import field_names, options_of
from svm_robot.scripts.rig_file import Lines, check_rig_file, nearest

if TYPE_CHECKING:
    from svm_robot.drivers.rig import RigConfig

UNKNOWN_CHOICE = re.compile(r"Couldn't find a choice class for '(?P<type>[^']*)' in <class '(?P<base>[\w.]+)'>")
TRUTHS = ("true", "false", "yes", "no", "on", "off", "1", "0")


def split_positionals(args: Sequence[str], usage: str, least: int, most: int | None) -> tuple[list[str], list[str]]:
    """Split plain words from options. ``most`` None: any number of words.

    A plain word may also follow an option that holds its own value (``--a=b word``). After ``--help`` missing words are
    given as empty ones, so that a verb can go on to ``parse``, which prints the help. Raises ``ConfigError``.
    """
    words: list[str] = []
    options: list[str] = []
    for arg in args:
        is_value = bool(options) and options[-1].startswith("--") and "=" not in options[-1]
        (options if arg.startswith("-") or is_value else words).append(arg)
    if asks_help(options):
        return words + [""] * (least - len(words)), options
    if len(words) < least or (most is not None and len(words) > most):
        got = " ".join(words) or "nothing"
        hint = "; plain words come before the options" if len(words) < least and options else ""
        raise ConfigError(f"expected: {usage}; got {got}{hint} (see --help)")
    return words, options


def parse[C](config_class: type[C], options: Sequence[str], rig: str | None = None, usage: str = "") -> C:
    """Build ``config_class`` from an optional YAML file and ``--a.b=c`` overrides.

    ``--a b`` and ``--a=b`` mean the same, ``--a-b`` is ``--a_b``, and a switch needs no ``=true``.
    Raises ``ConfigError`` with file, line and field instead of a traceback; ``--help`` prints and exits.
    """
    if asks_help(options):
        print(help_text(config_class, usage))
        raise SystemExit(0)
    lines = check_rig_file(Path(rig), config_class) if rig is not None else {}
    given = spelled_out(config_class, options)
    complaint = io.StringIO()  # argparse prints its whole usage, which is hundreds of lines, before the one that helps
    try:
        with redirect_stderr(complaint):
            return draccus.parse(config_class, config_path=rig, args=given)  # type: ignore[no-any-return]
    except SystemExit:
        reason = complaint.getvalue().rstrip().rpartition("error: ")[2]
        raise ConfigError(from_argparse(reason, config_class)) from None
    except (draccus.utils.DecodingError, draccus.ParsingError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(one_line(error, rig, lines, given)) from error


def virtual_rig(path: str) -> "RigConfig":
    """The rig of ``--rig``. Raises ``ConfigError`` for a real robot: only the virtual one judges itself."""
    from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
    from svm_robot.drivers.rig import RigConfig

    rig = parse(RigConfig, [], rig=path)
    if not isinstance(rig.robot, VirtualSO101Config):
        raise ConfigError(f"--rig={path} describes a real robot; only the virtual one can judge itself")
    return rig


def asks_help(options: Sequence[str]) -> bool:
    return any(option in ("-h", "--help") for option in options)


def spelled_out(config_class: type, options: Sequence[str]) -> list[str]:
    """Options as draccus wants them: underscores in names, and ``--switch`` as ``--switch=true``."""
    switches = {f"--{option.name}" for option in options_of(config_class) if option.is_switch}
    texts = {f"--{option.name}" for option in options_of(config_class) if option.kind is str}
    given: list[str] = []
    for position, option in enumerate(options):
        name, equals, value = option.partition("=")
        if not is_option(name):
            given.append(as_typed(option) if given and given[-1] in texts else option)
            continue
        name = "--" + name[2:].replace("-", "_")
        if name == "--config_path":
            raise ConfigError("--config_path is not needed: the rig file is the first plain word")
        if f"{name[2:]}_" in field_names(config_class, ""):
            name += "_"  # --from is the field from_
        following = options[position + 1].lower() if position + 1 < len(options) else ""
        if name in switches and not equals and following not in TRUTHS:
            equals, value = "=", "true"
        if value.startswith("~/"):  # shells leave it alone behind an equals sign
            value = str(Path(value).expanduser())
        given.append(name + equals + (as_typed(value) if equals and name in texts else value))
    return given


def as_typed(text: str) -> str:
    """A text as YAML, which would else read ``yes``, ``null`` or ``slip: late`` as something other than words."""
    return json.dumps(text, ensure_ascii=False)


def is_option(word: str) -> bool:
    return word.startswith("--") and len(word) > 2


def from_argparse(reason: str, config_class: type) -> str:
    """argparse's complaint, with the nearest name where it knows none."""
    unknown = re.match(r"unrecognized arguments: (\S+)", reason)
    if unknown is None:
        return f"{reason.removeprefix('argument ')} (see --help)"
    word = unknown.group(1)
    if not is_option(word):
        return f"unexpected word '{word}' (options look like --name=value; see --help)"
    name = word[2:].partition("=")[0]
    return f"unknown option --{name}{nearest(name, field_names(config_class, ''))} (see --help)"


def one_line(error: Exception, rig: str | None, lines: Lines, given: Sequence[str]) -> str:
    """The message of a draccus error on one line, with the file and line, or the option, that it came from."""
    text = " ".join(useful_cause(error).split())
    text = re.sub(r"^`([^`]+)`: ", r"\1: ", text)  # draccus: "`rate_hz`: Couldn't parse ..."
    text = UNKNOWN_CHOICE.sub(known_choices, text)
    named = re.match(r"-*([\w.]+)", text)
    name = named.group(1) if named else ""
    if any(f"--{name}.".startswith(f"{word.partition('=')[0]}.") for word in given if is_option(word)):
        return f"--{text.lstrip('-')} (see --help)"
    missing = re.match(r"Missing required field\(s\) (.+) for ", text)
    if missing:
        names = ", ".join(f"--{field}=..." for field in re.findall(r"`([^`]+)`", missing.group(1)))
        return f"missing: {names}" + (f" (or the same in {rig})" if rig else "") + " (see --help)"
    if name in lines:
        return f"{rig}, line {lines[name]}: {text}"
    return f"{rig}: {text}" if rig and not text.startswith("--") else text


def known_choices(found: re.Match[str]) -> str:
    """What may stand where a type is unknown, from the class that draccus names."""
    module, _, name = found["base"].rpartition(".")
    choices = getattr(sys.modules[module], name).get_known_choices()
    hint = nearest(found["type"], choices) or f"; known: {', '.join(sorted(choices))}"
    return f"unknown type '{found['type']}'{hint}"


def useful_cause(error: BaseException) -> str:
    """draccus wraps what a config's own checks say into "couldn't instantiate"; only the check's words help."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ConfigError):
        cause = cause.__cause__
    return str(cause or error)


def warn(text: str) -> None:
    """A note for the person at the terminal, kept out of standard output."""
    with suppress(OSError):  # a terminal that is gone: no reason to leave a robot as it is
        print(f"note: {text}", file=sys.stderr)
