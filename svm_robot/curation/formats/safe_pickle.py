"""Reads pickles of plain values and numpy arrays, and can run nothing.

A pickle is a program: loading one from elsewhere may do anything the person at the keyboard may do. Here every name
that it asks for is looked up in a table of stand-ins that build plain arrays from bytes; all other names are refused.
Not even numpy's own constructors are reached, because those trust the layout of a type that the file describes.
"""

import bz2
import gzip
import lzma
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import DataError

PLAIN = "biufcSU"
"""Kinds of numpy types that hold nothing but their own bytes: bool, integers, floats, complex, bytes, text."""

PACKED: Mapping[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""First bytes of a compressed file -> what opens it."""


class RefusedError(pickle.UnpicklingError):
    """The pickle asks for something that is no plain value."""


class PlainType:
    """Stand-in of ``numpy.dtype``: takes simple types, and of their description only the byte order."""

    def __init__(self, spec: Any, align: Any = False, copy: Any = False) -> None:
        try:
            self.dtype = np.dtype(spec) if isinstance(spec, str) else np.dtype("O")
        except TypeError as error:
            raise RefusedError(f"numpy type {spec!r}") from error
        if self.dtype.kind not in PLAIN:
            raise RefusedError(f"numpy type {spec!r}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if len(state) < 5 or any(part is not None for part in state[2:5]) or state[1] not in ("<", ">", "=", "|"):
            raise RefusedError(f"a numpy type with fields, or of a byte order {state[1:2]}")
        self.dtype = self.dtype.newbyteorder(state[1])


class PlainArray:
    """Stand-in of an array while it is being read."""

    def __init__(self, kind: Any = None, shape: Any = None, code: Any = None) -> None:
        self.value: NDArray[Any] = np.empty(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, content = state
        if not isinstance(content, bytes | bytearray):
            raise RefusedError("an array of Python objects")
        self.value = array(content, kind, shape, "F" if fortran else "C")


def array(content: Any, kind: Any, shape: Any, order: str = "C") -> NDArray[Any]:
    """An array from its bytes. Raises ``RefusedError`` when they do not fit its shape."""
    if not isinstance(kind, PlainType):
        raise RefusedError("an array without a plain type")
    try:
        flat = np.frombuffer(content, kind.dtype)
        return np.reshape(flat, shape, order="F" if order == "F" else "C")
    except (ValueError, TypeError) as error:
        raise RefusedError(f"a damaged array ({error})") from error


def scalar(kind: Any, content: Any = b"") -> Any:
    """One number of numpy's."""
    data = content.encode("latin1") if isinstance(content, str) else content
    return array(data, kind, ())[()]


def octets(content: Any = b"", encoding: str = "latin1") -> bytes:
    """How the older protocols write bytes: as text, or empty. A number would claim memory."""
    if encoding not in ("latin1", "latin-1") or not isinstance(content, str | bytes):
        raise RefusedError(f"bytes made from {type(content).__name__} in the encoding {encoding!r}")
    return content.encode("latin1") if isinstance(content, str) else content


def octet_array(content: Any = b"", encoding: str = "latin1") -> bytearray:
    """The same, changeable."""
    return bytearray(octets(content, encoding))


NUMPY: Mapping[str, Any] = {
    "dtype": PlainType,
    "ndarray": PlainArray,
    "_reconstruct": PlainArray,
    "_frombuffer": array,
    "scalar": scalar,
}
NUMPY_MODULES = (
    "numpy",
    "numpy.core.multiarray",
    "numpy._core.multiarray",
    "numpy.core.numeric",
    "numpy._core.numeric",
)
OTHERS: Mapping[tuple[str, str], Any] = {
    ("_codecs", "encode"): octets,
    ("builtins", "bytes"): octets,
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "bytearray"): octet_array,
    ("builtins", "complex"): complex,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
}


class PlainUnpickler(pickle.Unpickler):
    """Knows plain containers (the format's own), numpy arrays and numbers."""

    def find_class(self, module: str, name: str) -> Any:
        """A stand-in, or ``RefusedError`` with the name."""
        if module in NUMPY_MODULES and name in NUMPY:
            return NUMPY[name]
        module = {"__builtin__": "builtins"}.get(module, module)
        if (module, name) in OTHERS:
            return OTHERS[module, name]
        raise RefusedError(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        """Refers to something outside the file."""
        raise RefusedError("a reference to something outside the file")


def load_plain(path: Path) -> Any:
    """The value in a pickle file, which may be compressed by gzip, bzip2 or xz.

    Raises ``DataError`` that names what is refused, or says that the file is damaged.
    """
    try:
        with open_packed(path) as file:
            value = unwrap(PlainUnpickler(file).load())
            if file.read(1):  # also reads a compressed file to its end, where its checksum is
                raise RefusedError("more than one value, one behind the other")
            return value
    except RefusedError as error:
        raise DataError(
            f"{path} is refused: it holds {error}; only plain values and numpy arrays are read from a pickle, "
            "because anything else could run a program. Convert it where it was made (numpy.asarray)"
        ) from error
    except (OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise DataError(f"{path} is cut off or damaged ({error})") from error
    except Exception as error:  # a damaged pickle may raise anything
        raise DataError(f"{path} is no pickle, or a damaged one ({type(error).__name__}: {error})") from error


def open_packed(path: Path) -> IO[bytes]:
    """The file, decompressed while it is read."""
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((opener for magic, opener in PACKED.items() if start.startswith(magic)), None)
    return cast("IO[bytes]", path.open("rb") if opener is None else opener(path))


def unwrap(value: Any) -> Any:
    """The same value with real arrays in place of their stand-ins."""
    if isinstance(value, PlainArray):
        return value.value
    if isinstance(value, PlainType):
        return value.dtype
    if isinstance(value, dict):
        return {unwrap(key): unwrap(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(unwrap(item) for item in value)
    return value
