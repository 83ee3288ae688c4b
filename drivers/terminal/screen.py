"""A whole terminal to draw on: keys in, escape sequences out, everything as it was on every way out."""

import os
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Self, TextIO

from svm_robot.drivers.terminal.keys import LONE_ESCAPE_S
from svm_robot.drivers.terminal.single_keys import SingleKeys
from svm_robot.errors import ConfigError, DeviceError

ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
"""The other screen, no cursor, no line wrap, empty."""
LEAVE = b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
UNKNOWN_SIZE = (80, 24)


class Screen:
    """Use it in a ``with`` block. ``keys`` and ``out``: standard input and output unless given."""

    def __init__(
        self,
        instead: str,
        keys: TextIO | None = None,
        out: TextIO | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """``instead``: what to do where there is no terminal."""
        self.out = out if out is not None else sys.stdout
        self.instead, self.environ = instead, environ
        self._single = SingleKeys(keys if keys is not None else sys.stdin, instead, quiet=True)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Take the screen and the keys. Raises ``ConfigError`` when this is no terminal that can show pictures."""
        if self.out is None or self.out.closed or not self.out.isatty():
            raise ConfigError(f"nobody can watch here: standard output is no terminal. {self.instead}")
        if self.environ.get("TERM", "") in ("", "dumb"):
            raise ConfigError(
                f"TERM={self.environ.get('TERM', '')} is a terminal that cannot place a picture. {self.instead}"
            )
        self._single.open()
        self._single.forget()  # keys pressed before there was anything to see judge nothing
        self.out.flush()
        self.write(ENTER)

    def close(self) -> None:
        """Give both back; may be called twice."""
        if not self._single.is_open:
            return
        try:
            self.write(LEAVE)
        except DeviceError:
            pass  # the terminal is gone, and with it what was on it
        finally:
            self._single.close()

    @property
    def truecolor(self) -> bool:
        """True when the terminal says that it has 24-bit colour; the others get the 256 colours all of them have."""
        return self.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")

    def size(self) -> tuple[int, int]:
        """(columns, lines) now."""
        try:
            columns, lines = os.get_terminal_size(self.out.fileno())
        except OSError:
            return UNKNOWN_SIZE
        return (columns, lines) if columns and lines else UNKNOWN_SIZE

    def write(self, data: bytes) -> None:
        """Send it all; blocks while a slow line is full. Raises ``DeviceError`` when the terminal is gone."""
        try:
            while data:
                data = data[os.write(self.out.fileno(), data) :]
        except (OSError, ValueError) as error:
            raise DeviceError(f"the terminal is gone (connection lost?): {error}") from error

    def pressed(self, timeout_s: float) -> list[str]:
        """The keys pressed since the last call, as ``KeyReader.keys`` names them; waits up to ``timeout_s`` for one."""
        return self._single.pressed(min(timeout_s, LONE_ESCAPE_S))
