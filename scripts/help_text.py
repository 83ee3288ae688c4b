"""What ``svm-robot VERB --help`` prints: the usage line, then every option with the comment from its configuration."""

import inspect
import shutil
import textwrap
from enum import Enum
from typing import Any

from svm_robot.scripts.options import Option, is_choice, options_of

INDENT = 6


def help_text(config_class: type, usage: str) -> str:
    """The help page of one verb, as wide as the terminal."""
    width = min(shutil.get_terminal_size().columns, 110)
    options = list(options_of(config_class))
    parts = [f"usage: {usage}", "", textwrap.fill(summary(config_class), width), ""]
    for option in sorted(options, key=lambda option: not option.needed):
        parts.append(f"  --{option.name}={option.shape}" if not option.is_switch else f"  --{option.name}")
        if text := describe(option):
            parts.append(textwrap.indent(textwrap.fill(text, width - INDENT), " " * INDENT))
    parts += ["", "--a-b is the same as --a_b, and --a b the same as --a=b."]
    if any(is_choice(option.kind) for option in options):
        parts.append("The command line wins over the rig file.")
    return "\n".join(parts)


def summary(config_class: type) -> str:
    """The first paragraph of the configuration's docstring."""
    return " ".join((inspect.getdoc(config_class) or "").split("\n\n")[0].split())


def describe(option: Option) -> str:
    """Comment, choices and default of one option."""
    text = option.comment
    if is_choice(option.kind):
        names = ", ".join(sorted(option.kind.get_known_choices()))
        field = option.name.rpartition(".")[0]
        text = f"{text or field}; one of: {names}; each has fields of its own: --{field}.FIELD=value"
    if option.needed:
        return f"{text} (must be given)"
    shown = show(option.default)
    return f"{text} (otherwise: {shown})" if shown else text


def show(default: Any) -> str:
    """A default as a person would type it; nothing for an empty one."""
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, Enum):
        return str(default.value)
    return "" if default in (None, "", [], {}, ()) or hasattr(default, "__dataclass_fields__") else str(default)
