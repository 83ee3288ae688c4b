"""What options a configuration class has: their names, types, defaults and the comments beside them."""

import dataclasses
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from svm_robot.scripts.comments import comment_of

TYPE = "type"
"""The key that chooses among registered classes, as in ``robot.type``."""


@dataclass(frozen=True)
class Option:
    """One ``--name=value``."""

    name: str
    kind: Any
    needed: bool
    default: Any
    comment: str

    @property
    def is_switch(self) -> bool:
        """True when ``--name`` alone means true."""
        return self.kind is bool

    @property
    def shape(self) -> str:
        """How its value is written, for the help text."""
        if is_choice(self.kind):
            return "NAME"
        if get_origin(self.kind) is Literal:
            return "|".join(map(str, get_args(self.kind)))
        names = {bool: "true|false", int: "INT", float: "NUMBER", str: "TEXT", Path: "PATH"}
        return names.get(self.kind, "YAML")


def options_of(config_class: type, prefix: str = "") -> Iterator[Option]:
    """Every option of a dataclass, those of nested dataclasses with dotted names; a choice gives only its ``.type``."""
    for field, kind in fields_of(config_class).values():
        name = prefix + field.name.removesuffix(
            "_"
        )  # a field for --from must not be called like a word of the language
        if dataclasses.is_dataclass(kind) and not is_choice(kind):
            assert isinstance(kind, type)
            yield from options_of(kind, name + ".")
            continue
        comment = comment_of(config_class, field.name)
        needed, default = default_of(field)
        yield Option(f"{name}.{TYPE}" if is_choice(kind) else name, kind, needed, default, comment)


def fields_of(config_class: type) -> dict[str, tuple["dataclasses.Field[Any]", Any]]:
    """Field name -> (field, its type without ``| None``), for the fields that a user may set."""
    hints = get_type_hints(config_class)
    known = {field.name: field for field in dataclasses.fields(config_class) if field.init}
    return {name: (field, without_none(hints[name])) for name, field in known.items()}


def names_under(kind: Any, prefix: str = "") -> Iterator[str]:
    """Every dotted name that may be set below a type, through all classes a choice may become."""
    if is_choice(kind):
        yield prefix + TYPE
        for choice in set(kind.get_known_choices().values()):
            yield from field_names(choice, prefix)
    elif dataclasses.is_dataclass(kind):
        yield from field_names(kind, prefix)


def field_names(config_class: Any, prefix: str) -> Iterator[str]:
    for field in dataclasses.fields(config_class):
        if field.init:
            yield prefix + field.name
    for name, (_, kind) in fields_of(config_class).items():
        yield from names_under(kind, f"{prefix}{name}.")


def without_none(kind: Any) -> Any:
    """``X`` for ``X | None``; other types as they are."""
    if get_origin(kind) in (Union, types.UnionType):
        rest = [part for part in get_args(kind) if part is not type(None)]
        return rest[0] if len(rest) == 1 else kind
    return kind


def is_choice(kind: Any) -> bool:
    """True for a class whose concrete form a ``type`` key chooses (LeRobot's robots, cameras, teleoperators)."""
    return inspect.isclass(kind) and hasattr(kind, "get_known_choices")


def default_of(field: "dataclasses.Field[Any]") -> tuple[bool, Any]:
    """(must be given, value otherwise)."""
    if field.default is not dataclasses.MISSING:
        return False, field.default
    if field.default_factory is not dataclasses.MISSING:
        return False, field.default_factory()
    return True, None
