"""A terminal that gives single keys without echo, and is put back as it was on every way out."""

import atexit
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from types import FrameType
from typing import Any, TextIO

from svm_robot.drivers.terminal.keys import KeyReader
from svm_robot.errors import ConfigError, DeviceError

EXIT_SIGTERM = 143


class SingleKeys:
    """The input side of a terminal. ``open`` and ``close`` may be called twice."""

    def __init__(self, keys: TextIO | None, instead: str, quiet: bool = False) -> None:
        """``keys``: None where a program was started without any. ``instead``: what to do then.

        ``quiet``: Ctrl-Z and Ctrl-S do nothing either.
        """
        self.keys, self.instead, self.quiet = keys, instead, quiet
        self._saved: list[Any] | None = None
        self._saved_handler: Any = None
        self._reader = KeyReader()

    @property
    def is_open(self) -> bool:
        """True between ``open`` and ``close``."""
        return self._saved is not None

    def open(self) -> None:
        """Take single keys without echo. Raises ``ConfigError`` when there is no terminal to take them from."""
        if self._saved is not None:
            return
        if self.keys is None or self.keys.closed or not self.keys.isatty():
            raise ConfigError(f"nobody can press a key here: standard input is no terminal. {self.instead}")
        if in_background(self.keys):
            raise ConfigError(f"in the background no key arrives: start this without '&'. {self.instead}")
        self._saved = termios.tcgetattr(self.keys)
        atexit.register(self.close)
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._saved_handler = signal.signal(signal.SIGTERM, _exit)
        tty.setcbreak(self.keys, termios.TCSADRAIN)  # single keys, no echo; Ctrl-C still interrupts
        if self.quiet:
            termios.tcsetattr(self.keys, termios.TCSADRAIN, without_stops(self.keys))

    def close(self) -> None:
        """Put the terminal back as it was."""
        if self._saved is None or self.keys is None:
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

    def forget(self) -> None:
        """Throw away what was typed ahead."""
        if self.keys is not None:
            termios.tcflush(self.keys, termios.TCIFLUSH)

    def pressed(self, timeout_s: float | None = 0.0) -> list[str]:
        """Every key since the last call, as ``KeyReader.keys`` names it; waits up to ``timeout_s`` (None: for ever).

        Raises ``DeviceError`` for a lost terminal.
        """
        return self._reader.keys(self._read(timeout_s), time.monotonic())

    def _read(self, timeout_s: float | None) -> bytes:
        if self._saved is None or self.keys is None:
            raise DeviceError("the terminal is not open; use it in a with block")
        if not select.select([self.keys], [], [], timeout_s)[0]:
            return b""
        try:
            data = os.read(self.keys.fileno(), 1024)
        except OSError:
            data = b""
        if not data:
            raise DeviceError("the terminal is gone (connection lost?)")
        return data


def in_background(keys: TextIO) -> bool:
    """True when a shell runs this behind its prompt: touching the terminal would stop the program without a word."""
    try:
        return os.tcgetpgrp(keys.fileno()) != os.getpgrp()
    except OSError:
        return False  # not the terminal this process belongs to: nobody's job control


def without_stops(keys: TextIO) -> list[Any]:
    """The terminal's settings without the keys that stop a program or its output: they lie beside ``z`` and ``s``."""
    settings = termios.tcgetattr(keys)
    settings[0] &= ~termios.IXON
    nothing = bytes([os.fpathconf(keys.fileno(), "PC_VDISABLE") & 0xFF])
    settings[6][termios.VSUSP] = nothing
    return settings


def _exit(number: int, frame: FrameType | None) -> None:
    """SIGTERM becomes an ordinary exit, so that everything that is open gets closed."""
    sys.exit(EXIT_SIGTERM)
