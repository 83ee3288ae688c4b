"""Keys on a pseudo-terminal, as a person over SSH would press them."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

import pytest

from svm_robot.drivers.terminal.keys import LONE_ESCAPE_S, KeyReader, letters
from svm_robot.drivers.terminal.operator import TerminalOperator
from svm_robot.errors import ConfigError, DeviceError


class Person:
    """The other end of the terminal."""

    def __init__(self) -> None:
        self.hand, slave = pty.openpty()
        self.keys: TextIO = os.fdopen(slave, "r")
        self.screen = io.StringIO()

    def press(self, data: bytes) -> None:
        os.write(self.hand, data)

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self.keys)

    def leave(self) -> None:
        if not self.keys.closed:
            self.keys.close()
        if self.hand >= 0:
            os.close(self.hand)
        self.hand = -1


@pytest.fixture
def person() -> Iterator[Person]:
    made = Person()
    yield made
    made.leave()


@pytest.fixture
def operator(person: Person) -> Iterator[TerminalOperator]:
    with TerminalOperator(person.keys, person.screen) as made:
        yield made


def verdict(operator: TerminalOperator) -> str | None:
    """Poll like the loop does, until a key has had time to arrive."""
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        if (said := operator.poll(None)) is not None:
            return said
        time.sleep(0.005)
    return None


@pytest.mark.parametrize(
    ("key", "outcome"),
    [
        (b"s", "success"),
        (b"f", "failure"),
        (b"u", "unsure"),
        (b"d", "aborted"),
        (b"S", "success"),
        (b"xyzf", "failure"),
    ],
)
def test_keys_are_verdicts(operator: TerminalOperator, person: Person, key: bytes, outcome: str) -> None:
    assert operator.poll(None) is None
    person.press(key)
    assert verdict(operator) == outcome


def test_q_stops_after_this_episode_and_ends_nothing_now(operator: TerminalOperator, person: Person) -> None:
    person.press(b"q")
    assert verdict(operator) is None
    assert operator.wants_to_stop()
    assert "stopping after this episode" in person.screen.getvalue()


def test_q_right_behind_a_verdict_still_stops(operator: TerminalOperator, person: Person) -> None:
    person.press(b"sq")
    assert verdict(operator) == "success"
    assert operator.wants_to_stop()


def test_at_the_time_limit_the_person_is_asked(operator: TerminalOperator, person: Person) -> None:
    person.press(b"?\r\x1b[Af")
    assert operator.outcome() == "failure"
    assert "the time is over" in person.screen.getvalue()


def test_an_episode_begins_with_enter(operator: TerminalOperator, person: Person) -> None:
    typist = threading.Timer(0.1, person.press, [b"s\r"])
    typist.start()
    operator.begin(3)
    typist.join()
    assert "episode 3" in person.screen.getvalue()
    assert not operator.wants_to_stop()
    assert operator.poll(None) is None, "a key pressed before the episode judges nothing"


def test_an_enter_from_before_the_question_starts_nothing(operator: TerminalOperator, person: Person) -> None:
    person.press(b"\r")
    assert select.select([person.keys], [], [], 5)[0]
    typist = threading.Timer(0.2, person.press, [b"\r"])
    begun_s = time.monotonic()
    typist.start()
    operator.begin(1)
    assert time.monotonic() - begun_s > 0.15
    typist.join()


def test_q_before_an_episode(operator: TerminalOperator, person: Person) -> None:
    person.press(b"q")
    operator.begin(1)
    assert operator.wants_to_stop()
    operator.begin(2)  # does not ask again


def test_the_terminal_is_restored_on_every_way_out(person: Person) -> None:
    before = person.settings()
    with pytest.raises(KeyboardInterrupt), TerminalOperator(person.keys, person.screen) as operator:
        operator.open()
        assert not person.settings()[3] & termios.ECHO
        assert not person.settings()[3] & termios.ICANON
        assert person.settings()[3] & termios.ISIG, "Ctrl-C must still interrupt"
        raise KeyboardInterrupt
    assert person.settings() == before
    operator.close()


def test_a_dropped_connection_is_an_error_and_closing_is_not(person: Person) -> None:
    operator = TerminalOperator(person.keys, person.screen)
    operator.open()
    os.close(person.hand)
    person.hand = -1
    with pytest.raises(DeviceError, match="the terminal is gone"):
        operator.poll(None)
    operator.close()


def test_without_a_terminal_it_says_what_to_use(person: Person) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as no_terminal, pytest.raises(ConfigError, match="--judge"):
        TerminalOperator(no_terminal).open()
    os.close(writer)
    operator = TerminalOperator(person.keys)
    with pytest.raises(DeviceError, match="with block"):
        operator.poll(None)
    person.leave()
    with pytest.raises(ConfigError, match="--judge"):
        operator.open()


CHILD = """
import sys, time
from svm_robot.drivers.terminal.operator import TerminalOperator
with TerminalOperator():
    print("ready", flush=True)
    time.sleep(30)
"""


def test_the_terminal_is_restored_after_sigterm(person: Person) -> None:
    before = person.settings()
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=person.keys, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    assert person.settings() != before
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 143
    child.stdout.close()
    assert person.settings() == before


@pytest.mark.parametrize(
    ("name", "data", "keys"),
    [
        ("letters", b"sFq", ["s", "f", "q"]),
        ("enter", b"\r\n", ["enter", "enter"]),
        ("arrow", b"\x1b[Cs", ["s"]),
        ("arrow of another terminal", b"\x1bODs", ["s"]),
        ("F4", b"\x1bOSu", ["u"]),
        ("Shift-F4 ends in a letter", b"\x1b[1;2Sf", ["f"]),
        ("F5", b"\x1b[15~d", ["d"]),
        ("Alt-s is no s", b"\x1bsf", ["f"]),
        ("Escape twice, then an arrow", b"\x1b\x1b[As", ["s"]),
        ("umlauts, digits, Ctrl keys", "ß9\x04\x00ü".encode(), []),
    ],
)
def test_escape_sequences_are_not_read_as_letters(name: str, data: bytes, keys: list[str]) -> None:
    reader = KeyReader()
    assert letters(reader.keys(data, 0.0)) == keys
    split = KeyReader()
    assert [key for byte in data for key in letters(split.keys(bytes([byte]), 0.0))] == keys, "the same byte by byte"


@pytest.mark.parametrize(
    ("name", "data", "keys"),
    [
        ("characters as typed", "aB9 +ü,".encode(), ["a", "B", "9", " ", "+", "ü", ","]),
        ("arrows", b"\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        ("arrows of another terminal", b"\x1bOC\x1bOD", ["right", "left"]),
        ("with Shift it is another key", b"\x1b[1;2Cs", ["s"]),
        ("the rest", b"\r\x7f\x08\x01\x1bOP\x1b[15~", ["enter", "backspace", "backspace"]),
        ("a torn character", b"\xc3s", ["s"]),
    ],
)
def test_every_key_has_a_name(name: str, data: bytes, keys: list[str]) -> None:
    assert KeyReader().keys(data, 0.0) == keys
    split = KeyReader()
    assert [key for byte in data for key in split.keys(bytes([byte]), 0.0)] == keys, "the same byte by byte"


def test_a_split_arrow_is_an_arrow_and_a_lone_escape_is_told_in_time() -> None:
    reader = KeyReader()
    assert reader.keys(b"\x1b", 0.0) == []
    assert reader.keys(b"", LONE_ESCAPE_S / 2) == []
    assert reader.keys(b"[C", LONE_ESCAPE_S / 2) == ["right"]
    assert reader.keys(b"\x1b", 1.0) == []
    assert reader.keys(b"", 1.0 + 2 * LONE_ESCAPE_S) == ["escape"]
    assert reader.keys(b"[", 1.0 + 3 * LONE_ESCAPE_S) == ["["]


BACKGROUND = """
import os, signal, sys
from svm_robot.drivers.terminal.single_keys import SingleKeys
from svm_robot.errors import ConfigError
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.setpgid(0, 0)  # as a shell does with what ends in '&'
try:
    SingleKeys(sys.stdin, "Do this instead.").open()
except ConfigError as error:
    print(error, flush=True)
    os._exit(7)
os._exit(0)
"""


def test_in_the_background_it_says_so_instead_of_being_stopped() -> None:
    pid, hand = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", BACKGROUND])
    said = b""
    try:
        while select.select([hand], [], [], 30)[0]:
            said += os.read(hand, 1024)
    except OSError:
        pass  # the other side has ended
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7, said
    os.close(hand)
    assert b"in the background" in said and b"Do this instead." in said


def test_a_lone_escape_does_not_swallow_the_next_key() -> None:
    reader = KeyReader()
    assert letters(reader.keys(b"\x1b", 0.0)) == []
    assert letters(reader.keys(b"s", LONE_ESCAPE_S + 0.01)) == ["s"]
