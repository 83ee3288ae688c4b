"""A person at the keys of a terminal says how each episode went. Works without a display and over SSH.

LeRobot's own terminal listener is not used: it reads the last byte of some function keys as a letter, so that Shift-F4
would mean success; it loses the terminal's settings on SIGTERM; and it needs a thread where a poll is enough.
"""

import atexit
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from types import FrameType, TracebackType
from typing import Any, Self, TextIO

from svm_robot.drivers.keys import KeyReader
from svm_robot.errors import ConfigError, DeviceError

VERDICTS = {"s": "success", "f": "failure", "u": "unsure", "d": "aborted"}
STOP = "q"
HELP = "s success, f failure, u unsure, d discard; q stop after this episode"
EXIT_SIGTERM = 143


class TerminalOperator:
    """Satisfies the operator's seam. Use it in a ``with`` block: the terminal is put back on every way out."""

    def __init__(self, keys: TextIO | None = None, screen: TextIO | None = None) -> None:
        """``keys`` and ``screen``: standard input and standard error unless given."""
        self.keys = keys if keys is not None else sys.stdin
        self.screen = screen if screen is not None else sys.stderr
        self._reader = KeyReader()
        self._stop = False
        self._saved: list[Any] | None = None
        self._saved_handler: Any = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Take single keys without echo. Raises ``ConfigError`` when there is no terminal to take them from."""
        if self._saved is not None:
            return
        if self.keys.closed or not self.keys.isatty():
            raise ConfigError(
                "nobody can press a key here: standard input is no terminal. "
                "Use --judge on the virtual robot, or run this in a terminal (over SSH: ssh -t)"
            )
        self._saved = termios.tcgetattr(self.keys)
        atexit.register(self.close)
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._saved_handler = signal.signal(signal.SIGTERM, _exit)
        tty.setcbreak(self.keys, termios.TCSADRAIN)  # single keys, no echo; Ctrl-C still interrupts

    def close(self) -> None:
        """Put the terminal back as it was; may be called twice."""
        if self._saved is None:
            return
        saved, self._saved = self._saved, None
        try:
            termios.tcsetattr(self.keys, termios.TCSADRAIN, saved)
        except (termios.error, ValueError):
            pass  # the terminal itself is gone (a dropped connection): nothing to put back
        finally:
            if self._saved_handler is not None:
                signal.signal(signal.SIGTERM, self._saved_handler)
                self._saved_handler = None
            atexit.unregister(self.close)

    def begin(self, episode: int) -> None:
        """Wait until the person is ready: Enter starts the episode, ``q`` says that it shall not begin.

        An Enter from before the question counts for nothing: it would move the arm while hands are in the scene.
        """
        self._pressed(0.0)
        if self._stop:
            return
        self._say(f"episode {episode}: prepare the scene, then press Enter (q stops). During it: {HELP}")
        self._wait_for({"enter", STOP})

    def poll(self, step: object) -> str | None:
        """The verdict whose key was pressed since the last call, or None; never waits."""
        return next((VERDICTS[key] for key in self._pressed(0.0) if key in VERDICTS), None)

    def outcome(self) -> str:
        """Ask, and wait for an answer."""
        self._say(f"the time is over. How did it go? {HELP}")
        return VERDICTS[self._wait_for(set(VERDICTS))]

    def wants_to_stop(self) -> bool:
        """True after ``q``."""
        return self._stop

    def _wait_for(self, wanted: set[str]) -> str:
        while True:
            for key in self._pressed(None):
                if key in wanted:
                    return key

    def _pressed(self, timeout_s: float | None) -> list[str]:
        """What was typed since the last call; waits up to ``timeout_s`` (None: for ever). A ``q`` among it is noted."""
        if self._saved is None:
            raise DeviceError("the terminal is not open; use TerminalOperator in a with block")
        if not select.select([self.keys], [], [], timeout_s)[0]:
            return []
        try:
            data = os.read(self.keys.fileno(), 1024)
        except OSError:
            data = b""
        if not data:
            raise DeviceError("the terminal is gone (connection lost?); the episode cannot be labelled")
        keys = self._reader.feed(data, time.monotonic())
        if STOP in keys and not self._stop:  # also behind a verdict: "sq" typed at once
            self._stop = True
            self._say("stopping after this episode")
        return keys

    def _say(self, text: str) -> None:
        print(text, file=self.screen, flush=True)


def _exit(number: int, frame: FrameType | None) -> None:
    """SIGTERM becomes an ordinary exit, so that everything that is open gets closed."""
    sys.exit(EXIT_SIGTERM)
