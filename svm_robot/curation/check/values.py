"""What single values, types and schemas of a dataset may be."""

import math
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

Values = dict[str, NDArray[Any]]
"""Column -> (N, n) numbers, n for each row."""


def arrow_type(dtype: Any) -> pa.DataType | None:
    """The Arrow type of a LeRobot dtype; None for an unknown one. Pictures and language count as bytes."""
    if dtype in ("video", "image", "language"):
        return pa.binary()
    try:
        return pa.type_for_alias(dtype)
    except (ValueError, TypeError):
        return None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_template(value: Any, **more: str) -> bool:
    """True for a file name that can be filled in."""
    try:
        return isinstance(value, str) and bool(value.format(chunk_index=0, file_index=0, **more))
    except (KeyError, ValueError, IndexError, AttributeError):
        return False


def fits(schema: pa.Schema, first: pa.Schema) -> bool:
    """True when LeRobot can read a file after the first one: no column more, no type that does not convert."""
    if schema.equals(first):
        return True
    return all(
        name in first.names and converts(schema.field(name).type, first.field(name).type) for name in schema.names
    )


def converts(given: pa.DataType, wanted: pa.DataType) -> bool:
    """True when values of one Arrow type surely become values of another: the same, numbers, or nothing at all."""
    if given == wanted or pa.types.is_null(given):
        return True
    if is_list(given) and is_list(wanted):
        return converts(given.value_type, wanted.value_type)
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (given, wanted))


def is_list(kind: pa.DataType) -> bool:
    """True for every kind of Arrow list."""
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))
