"""``svm-robot label DATASET review`` on a pseudo-terminal, as over SSH: no display, split keys, lost connections."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from recordings import labels_restored, record_toy

from svm_robot.curation.review.review import HELD_S
from svm_robot.data.label_view import read_view
from svm_robot.data.labels import FILE
from svm_robot.drivers.terminal.keys import LONE_ESCAPE_S

PATIENCE_S = 60.0
LEAVE = b"\x1b[?1049l"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("review") / "d"
    record_toy(root, "ffff", max_steps=12)
    return root


@pytest.fixture
def root(recorded: Path) -> Iterator[Path]:
    yield from labels_restored(recorded)


class Terminal:
    """A terminal of 100x30 with the review in it, and the person before it."""

    def __init__(self, root: Path, *options: str, **environ: str) -> None:
        self.hand, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = self.settings()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "svm_robot", "label", str(root), "review", "--by=ada", *options],
            stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env=without_display() | {"TERM": "xterm-256color"} | environ,
            start_new_session=True, preexec_fn=take_terminal,
        )  # fmt: skip
        self.seen = b""

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def press(self, *keys: bytes, pause_s: float = 0.05) -> None:
        for key in keys:
            os.write(self.hand, key)
            self.read_for(pause_s)

    def read_for(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            if select.select([self.hand], [], [], left_s)[0]:
                try:
                    self.seen += os.read(self.hand, 65536)
                except OSError:
                    return

    def wait_for(self, text: str, since: int = 0) -> None:
        """Until it stands on the screen."""
        until_s = time.monotonic() + PATIENCE_S
        while text not in words(self.seen[since:]):
            assert time.monotonic() < until_s, f"{text!r} is not in {words(self.seen[since:])[-2000:]!r}"
            assert self.child.poll() is None or select.select([self.hand], [], [], 0)[0], words(self.seen)[-2000:]
            self.read_for(0.05)

    def wait(self) -> int:
        """The exit code, once it has ended; what it writes meanwhile is read."""
        until_s = time.monotonic() + PATIENCE_S
        while self.child.poll() is None and time.monotonic() < until_s:
            self.read_for(0.05)
        self.read_for(0.05)
        return self.child.wait(1)

    def hang_up(self) -> None:
        for name in ("hand", "slave"):
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
            setattr(self, name, -1)


@pytest.fixture
def terminal(root: Path) -> Iterator[Callable[..., Terminal]]:
    made: list[Terminal] = []

    def start(*options: str, **environ: str) -> Terminal:
        made.append(Terminal(root, *options, **environ))
        return made[-1]

    yield start
    for one in made:
        if one.child.poll() is None:
            one.child.kill()
        one.child.wait()
        one.hang_up()


def take_terminal() -> None:
    """In the child: the terminal becomes the one whose loss and whose Ctrl-C it hears of."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def without_display() -> Mapping[str, str]:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "COLORTERM", "COLUMNS", "LINES")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def words(data: bytes) -> str:
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", data.decode(errors="replace"))


def kinds(root: Path) -> list[str]:
    return [episode.kind for episode in read_view(root).episodes]


def test_a_review_over_ssh(root: Path, terminal: Callable[..., Terminal]) -> None:
    person = terminal()
    person.wait_for("episode 0 (1 of 4)")
    assert b"\x1b[38;5;" in person.seen and b"\x1b[38;2;" not in person.seen, "256 colours where no more are promised"
    assert "front" in words(person.seen) and "wrist" in words(person.seen)
    changed = person.settings()
    assert not changed[3] & (termios.ECHO | termios.ICANON) and changed[3] & termios.ISIG
    person.press(b" ")
    person.wait_for("paused")
    mark = len(person.seen)
    person.press(b"\x1b", pause_s=0.03)
    person.press(b"[", b"C")  # an arrow, split on its way
    person.press(b"\x1b[C")
    person.wait_for("frame 3/12", mark)
    person.press(b"\x1b", pause_s=2 * LONE_ESCAPE_S)  # Escape alone does nothing here, and swallows nothing
    person.press(b"s")
    person.wait_for("episode 0: failure -> success")
    person.read_for(HELD_S)
    person.press(b"u")
    person.wait_for("2 of 4 reviewed, 1 s 1 u")
    assert kinds(root) == ["success", "unsure", "failure", "failure"], "each one is on disk at once"
    person.press(b"z")
    person.wait_for("episode 1: unsure taken back")
    person.press(b"t", "schräg".encode(), b"\r")
    person.wait_for("tags schräg")
    person.press(b"q")
    assert person.wait() == 0
    assert person.settings() == person.before
    assert person.seen.count(LEAVE) == 1
    rest = person.seen.partition(LEAVE)[2].decode()
    assert "2 of 4 reviewed, 1 s 1 f" in rest and "label snapshot" in rest
    found = read_view(root).episode(1).label
    assert found is not None and (found.by, found.tags) == ("ada", ("schräg",))


def test_keys_pressed_before_there_was_a_picture_judge_nothing(root: Path, terminal: Callable[..., Terminal]) -> None:
    before = (root / FILE).read_bytes()
    person = terminal(COLORTERM="truecolor")
    person.press(b"s", b"f", b"q")
    person.wait_for("episode 0 (1 of 4)")
    assert b"\x1b[38;2;" in person.seen
    person.press(b"q")
    assert person.wait() == 0
    assert (root / FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda person: person.child.send_signal(signal.SIGTERM), 143),
        (lambda person: person.press(b"\x03"), 130),
    ],
    ids=["SIGTERM", "Ctrl-C"],
)
def test_the_terminal_is_given_back(root: Path, terminal: Callable[..., Terminal], end: Any, code: int) -> None:
    person = terminal()
    person.wait_for("episode 0 (1 of 4)")
    person.press(b"s", b"\x1a", b"\x13")  # Ctrl-Z and Ctrl-S lie beside z and s, and do nothing
    person.wait_for("failure -> success")
    end(person)
    assert person.wait() == code
    assert person.settings() == person.before
    assert person.seen.endswith((b"\r\n", LEAVE)) and LEAVE in person.seen
    assert "Traceback" not in words(person.seen)
    assert kinds(root)[0] == "success", "what was said stays"


def test_a_lost_connection_keeps_what_was_said(root: Path, terminal: Callable[..., Terminal]) -> None:
    person = terminal("--episode=2-3")
    person.wait_for("episode 2 (1 of 2)")
    person.press(b"a")
    person.wait_for("failure -> aborted")
    os.close(person.hand)
    person.hand = -1
    assert person.child.wait(PATIENCE_S) in (143, 5), "the terminal's end, or the signal of it"
    assert kinds(root)[2] == "aborted"


@pytest.mark.parametrize("keys", ["nothing", "closed"])
def test_without_keys_it_says_what_to_do_instead(root: Path, keys: str) -> None:
    hand, slave = pty.openpty()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, hand)
        stack.callback(os.close, slave)
        done = subprocess.run(
            [sys.executable, "-m", "svm_robot", "label", str(root), "review"],
            stdin=subprocess.DEVNULL if keys == "nothing" else None,
            stdout=slave, stderr=subprocess.PIPE, env=without_display() | {"TERM": "xterm"},
            preexec_fn=(lambda: os.close(0)) if keys == "closed" else None,
            text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "standard input" in done.stderr and "--episode=3 --set=failure" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_place_a_picture(root: Path, terminal: Callable[..., Terminal], term: str) -> None:
    person = terminal(TERM=term)
    assert person.wait() == 2
    assert "cannot place a picture" in words(person.seen)
    assert person.settings() == person.before
