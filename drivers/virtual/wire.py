"""A pseudo-terminal that a bus of servos answers on: to any program it is a serial port with an arm behind it."""

import contextlib
import os
import select
import threading
import time
import tty
from typing import Any

from svm_robot.drivers.virtual.chain import Chain
from svm_robot.errors import DeviceError

BAUD = 1_000_000
BITS_PER_BYTE = 10
FORGET_AFTER_S = 0.02
"""A packet whose rest does not come within this time is dropped, as a servo does."""


class Wire:
    """Serves one bus on one pseudo-terminal from a thread of its own. ``open`` and ``close`` may be called twice."""

    def __init__(self, bus: Chain[Any], *, wire_time: bool = False) -> None:
        self.bus = bus
        self.wire_time = wire_time
        """True: a reply takes as long as its bytes need at 1 Mbaud, and so did the request."""
        self.parser = bus.parser()
        self.port = ""
        """Path of the serial port; empty while closed."""
        self._master, self._slave, self._wake = -1, -1, -1
        self._thread: threading.Thread | None = None
        self._late: list[tuple[float, bytes]] = []
        """When (``time.perf_counter``) a reply that was kept back is due, and its bytes."""

    def open(self) -> None:
        """Create the port and start to answer. Raises ``DeviceError`` where the system has no pseudo-terminal left."""
        if self._thread is not None:
            return
        try:
            self._master, self._slave = os.openpty()
        except OSError as error:
            raise DeviceError(f"this system gives no pseudo-terminal ({error}); is /dev/pts mounted?") from error
        for end in (self._master, self._slave):
            tty.setraw(end)  # no echo, no newline translation
        # The slave stays open here, so that a host may close the port and open it again.
        self.port = os.ttyname(self._slave)
        stop, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._serve, args=(stop,), name=f"wire {self.port}")
        self._thread.start()

    def close(self) -> None:
        """Take the port away."""
        if self._thread is None:
            return
        os.close(self._wake)
        self._thread.join()
        for end in (self._master, self._slave):
            os.close(end)
        self._thread, self.port = None, ""

    def _serve(self, stop: int) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, stop)
            while True:
                readable, _, _ = select.select([self._master, stop], [], [], self._patience_s())
                if stop in readable:
                    return
                self._deliver_late()
                if self._master in readable:
                    self._answer(os.read(self._master, 4096))
                elif self.parser.pending:
                    self.parser.forget()

    def _patience_s(self) -> float | None:
        """Until a packet that has begun is forgotten, or a late reply is due."""
        waits = [max(0.0, due_s - time.perf_counter()) for due_s, _ in self._late]
        if self.parser.pending:
            waits.append(FORGET_AFTER_S)
        return min(waits, default=None)

    def _deliver_late(self) -> None:
        now = time.perf_counter()
        for due_s, reply in [late for late in self._late if late[0] <= now]:
            self._late.remove((due_s, reply))
            os.write(self._master, reply)

    def _answer(self, data: bytes) -> None:
        for packet in self.parser.feed(data):
            reply = self.bus.answer(packet)
            self._late += [(time.perf_counter() + self.bus.faults.late_s, late) for late in self.bus.late()]
            if not reply:
                continue
            wait = self.bus.faults.delay_s
            if self.wire_time:
                wait += (len(data) + len(reply)) * BITS_PER_BYTE / BAUD
            if wait > 0:
                time.sleep(wait)
            os.write(self._master, reply)
