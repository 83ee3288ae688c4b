"""A rig file checked before anything is built from it: every complaint names the file, the line and the field."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml

from svm_robot.errors import ConfigError
from svm_robot.scripts.options import TYPE, fields_of, is_choice

Lines = dict[str, int]
"""Dotted name of a field -> the line it is set on."""


def check_rig_file(path: Path, config_class: type) -> Lines:
    """Compare a YAML file with the class it shall become. Returns where each field is set.

    Raises ``ConfigError`` for a missing file, YAML that cannot be read, a key given twice and a key nobody knows.
    """
    root = read_nodes(path)
    checker = _Checker(path)
    checker.mapping(root, config_class, "")
    return checker.lines


def read_nodes(path: Path) -> yaml.MappingNode:
    """The YAML mapping of a file, with line numbers."""
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; a rig is one YAML file in it")
    if not path.is_file():
        raise ConfigError(f"no such rig file: {path} (rigs that ship: rigs/*.yaml)")
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
        raise ConfigError(f"{where}: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a text file in YAML ({' '.join(str(error).split())})") from error
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{path}: expected lines of the form 'key: value', and the first key 'robot'")
    return root


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` or nothing."""
    names = list(known)
    found = difflib.get_close_matches(name, names, 1) or difflib.get_close_matches(
        name.rpartition(".")[2], [known_name for known_name in names if "." not in known_name], 1
    )
    return f" (did you mean {found[0]}?)" if found else ""


class _Checker:
    """Walks a YAML tree beside the classes it is for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: Lines = {}

    def value(self, node: yaml.Node, kind: Any, name: str) -> None:
        """A value against the type of its field; only shapes that draccus would report badly are refused here."""
        empty = isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~")
        if is_choice(kind):
            if not empty:
                self.choice(self.as_mapping(node, name), kind, name)
        elif dataclasses.is_dataclass(kind):
            self.mapping(self.as_mapping(node, name), kind, name + ".")
        elif get_origin(kind) in (dict, Mapping) and not empty:
            for key, child in self.items(self.as_mapping(node, name), name + "."):
                self.value(child, get_args(kind)[1], f"{name}.{key}")

    def mapping(self, node: yaml.MappingNode, config_class: Any, prefix: str) -> None:
        known = fields_of(config_class)
        for key, child in self.items(node, prefix):
            if key not in known:
                hint = nearest(key, known) or f"; known here: {', '.join(known)}"
                raise self.error(f"unknown key '{prefix}{key}'{hint}", child)
            self.value(child, known[key][1], prefix + key)

    def choice(self, node: yaml.MappingNode, base: Any, name: str) -> None:
        """A mapping with a ``type`` key: the rest of its keys belong to the class which that names."""
        choices = base.get_known_choices()
        chosen = next((child for key, child in node.value if key.value == TYPE), None)
        if chosen is None:
            raise self.error(f"'{name}' has no type; known: {', '.join(sorted(choices))}", node)
        if chosen.value not in choices:
            hint = nearest(str(chosen.value), choices) or f"; known: {', '.join(sorted(choices))}"
            raise self.error(f"unknown {name}.{TYPE} '{chosen.value}'{hint}", chosen)
        rest = yaml.MappingNode(
            node.tag, [pair for pair in node.value if pair[0].value != TYPE], node.start_mark, node.end_mark
        )
        self.mapping(rest, choices[chosen.value], name + ".")

    def items(self, node: yaml.MappingNode, prefix: str) -> list[tuple[str, yaml.Node]]:
        """The pairs of a mapping, their lines noted; a key given twice would silently lose its first value."""
        pairs: dict[str, yaml.Node] = {}
        for key, child in node.value:
            name = str(key.value)
            if name in pairs:
                raise self.error(f"'{prefix}{name}' is given twice, first on line {self.lines[prefix + name]}", key)
            pairs[name] = child
            self.lines[prefix + name] = key.start_mark.line + 1
        return list(pairs.items())

    def as_mapping(self, node: yaml.Node, name: str) -> yaml.MappingNode:
        if not isinstance(node, yaml.MappingNode):
            raise self.error(f"'{name}' needs lines of the form 'key: value' below it", node)
        return node

    def error(self, what: str, node: yaml.Node) -> ConfigError:
        return ConfigError(f"{self.path}, line {node.start_mark.line + 1}: {what}")
