"""A pickle from elsewhere: values come through unchanged, and nothing in it is ever run."""

import bz2
import collections
import fractions
import gzip
import lzma
import os
import pickle
import pickletools
from pathlib import Path

import numpy as np
import pytest

from svm_robot.curation.formats.safe_pickle import load_plain
from svm_robot.errors import DataError

VALUES = [
    np.arange(6, dtype="<f4").reshape(2, 3),
    np.arange(6, dtype=">i2").reshape(2, 3, order="F"),
    np.zeros((0, 3)),
    np.array(2.5),
    np.array(["a", "bc"]),
    np.array([b"x", b"yz"]),
    np.array([True, False]),
    np.array([1 + 2j]),
    np.uint8(7),
    np.float64(0.1),
    np.bool_(True),
    b"\xff\x00\x01",
    b"",
    bytearray(b"ab"),
    (1, {2, 3}, frozenset({4}), None, 1 + 2j),
    collections.OrderedDict(b=[1.5], a="text"),
]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_come_through(tmp_path, protocol):
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps({"all": [VALUES, VALUES]}, protocol))
    for value, found in zip(VALUES, load_plain(path)["all"][1], strict=True):
        if isinstance(value, np.ndarray | np.generic):
            assert (found.dtype, found.shape) == (value.dtype, value.shape)
            assert np.array_equal(found, value)
        else:
            assert found == value


class Touches:
    """What a pickle can do when it is loaded in the usual way."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def evil_state(path):
    """The same, hidden where an array keeps its content."""
    array = np.empty(1, object)
    array[0] = Touches(path)
    return array


@pytest.mark.parametrize(
    "wrap", [lambda evil: evil, lambda evil: [{"observations": {"state": evil}}], lambda e: {1: e}]
)
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_nothing_is_run(tmp_path, wrap, protocol):
    trap, path = tmp_path / "trap", tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(wrap(Touches(trap)), protocol))
    with pytest.raises(DataError, match=r"refused: it holds (posix|nt)\.mkdir"):
        load_plain(path)
    path.write_bytes(pickle.dumps(wrap(evil_state(trap)), protocol))
    with pytest.raises(DataError, match="is refused"):
        load_plain(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Path("x"), "pathlib"),
        (fractions.Fraction(1, 3), "fractions.Fraction"),
        (np.zeros(2, [("a", "O")]), "numpy type 'V8'"),
        (np.zeros(2, [("a", "f4")]), "numpy type 'V4'"),
        (np.array([object()]), "numpy type 'O8'"),
        (np.datetime64("2030-01-01"), "numpy type 'M8'"),
        (np.random.default_rng(0), "numpy.random"),
        (np.ma.masked_array([1.0]), "numpy.ma"),
        (print, "builtins.print"),
        (getattr, "builtins.getattr"),
        (np.load, "numpy"),
        (collections.deque([1]), "collections.deque"),
    ],
)
def test_everything_else_is_refused_by_name(tmp_path, value, name):
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(DataError, match="is refused: it holds") as caught:
        load_plain(path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    "program",
    [
        b"cbuiltins\nbytes\n(I10000000000\ntR.",  # claims ten gigabytes
        b"cbuiltins\nbytearray\n(I10000000000\ntR.",
        b"c_codecs\nencode\n(Vx\nVpunycode\ntR.",
        b"cnumpy\ndtype\n(Vi4\nI0\nI1\ntR(I3\nV<\nNV(a)\nNI-1\nI-1\nI0\ntb.",  # a type with named fields
        b"cnumpy\ndtype\n(VO\nI0\nI1\ntR.",
        b"cnumpy._core.numeric\n_frombuffer\n(C\x04abcdcnumpy\ndtype\n(Vi4\ntR(I9\nI9\ntVC\ntR.",  # too large
        b"Pabc\n.",
    ],
)
def test_crafted_programs(tmp_path, program):
    path = tmp_path / "a.pkl"
    path.write_bytes(program)
    assert list(pickletools.genops(program))  # a well-formed one
    with pytest.raises(DataError, match="is refused"):
        load_plain(path)


def test_values_one_behind_the_other(tmp_path):
    path = tmp_path / "a.pkl"
    path.write_bytes(2 * pickle.dumps([1]))
    with pytest.raises(DataError, match="more than one value"):
        load_plain(path)


@pytest.mark.parametrize("cut", [0, 1, 10, -1])
def test_torn_files(tmp_path, cut):
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(VALUES)[:cut])
    with pytest.raises(DataError, match=r"no pickle, or a damaged one|cut off or damaged"):
        load_plain(path)
    path.write_bytes(gzip.compress(pickle.dumps(VALUES))[:cut])
    with pytest.raises(DataError, match=r"no pickle, or a damaged one|cut off or damaged"):
        load_plain(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_whatever_they_are_called(tmp_path, pack):
    path = tmp_path / "a.pkl"
    path.write_bytes(pack(pickle.dumps([1, 2])))
    assert load_plain(path) == [1, 2]


def test_an_endless_value(tmp_path):
    value = []
    value.append(value)
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(DataError, match="RecursionError"):
        load_plain(path)
