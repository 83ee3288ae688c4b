"""The bytes of an open serial port: no protocol, no waiting longer than asked."""

import os
import select
from typing import Any, Protocol

WRITE_TIMEOUT_S = 0.1
"""A port that takes no bytes for this long is as good as gone."""


class LineGone(OSError):  # noqa: N818  (an event of the cable, told as an error by whoever knows the joint)
    """The port vanished: a cable was pulled, or the adapter lost its power."""


class Line(Protocol):
    """One end of a serial line."""

    def write(self, data: bytes) -> None:
        """Send all. Raises ``LineGone``."""

    def read(self, patience_s: float) -> bytes:
        """What has arrived; waits up to ``patience_s`` for a first byte; empty: none came. Raises ``LineGone``."""


class SerialLine:
    """A ``Line`` over pyserial's open port. Sleeps in the kernel while it waits: no busy loop."""

    def __init__(self, port: Any) -> None:
        self.descriptor: int = port.fileno()
        self._readable = select.poll()
        self._readable.register(self.descriptor, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(self.descriptor, select.POLLOUT)

    def write(self, data: bytes) -> None:
        """See ``Line``."""
        while data:
            try:
                sent = os.write(self.descriptor, data)
            except BlockingIOError:
                if not self._writable.poll(1000 * WRITE_TIMEOUT_S):
                    raise LineGone(f"it took no byte for {WRITE_TIMEOUT_S:g} s") from None
                continue
            except OSError as error:
                raise LineGone(error.strerror or str(error)) from error
            data = data[sent:]

    def read(self, patience_s: float) -> bytes:
        """See ``Line``."""
        if not self._readable.poll(max(0.0, 1000 * patience_s)):
            return b""
        try:
            data = os.read(self.descriptor, 4096)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise LineGone(error.strerror or str(error)) from error
        if not data:
            raise LineGone("it hung up")
        return data
