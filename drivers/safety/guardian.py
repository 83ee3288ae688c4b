"""Sees to it that a stop stops, even where the main thread hangs in a driver or a library and hears no signal.

The system writes the number of each signal into a socket, whatever Python is doing; a thread reads it there. The main
thread still gets its ``KeyboardInterrupt`` and normally does everything itself. Where it does not come to that, this
thread stops the motors, and at last ends the program.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any, Self

from svm_robot.drivers.safety.steps import StopTimes
from svm_robot.errors import SvmRobotError

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_CODES: Mapping[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
TELL_S = 0.5
"""The terminal that hangs is not waited for longer."""


class Guardian:
    """Use it in a ``with`` block around everything that moves. Outside of the main thread it hears no signals."""

    def __init__(
        self,
        tell: Callable[[str], None],
        times: StopTimes | None = None,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        """``tell`` takes a line for the user; ``leave`` ends the program with an exit code, at once."""
        self.tell, self.times, self.leave = tell, times or StopTimes(), leave
        self.stop_motors: Callable[[str], object] = lambda _: None
        """Takes a reason; may be called again, and from any thread."""
        self.hurry: Callable[[], object] = lambda: None
        """A second signal came."""
        self._before: dict[int, Any] = {}
        self._received: list[int] = []
        self._hang: SvmRobotError | None = None
        self._ends_s: float | None = None
        self._code = 0
        self._thread = threading.Thread(target=self._watch, name="guardian", daemon=True)
        self._wake: socket.socket
        self._listen: socket.socket
        self._old_fd = -1

    def __enter__(self) -> Self:
        self._wake, self._listen = socket.socketpair()
        self._wake.setblocking(False)
        if threading.current_thread() is threading.main_thread():
            heard = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._on_signal) for number in heard}
            self._old_fd = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            signal.set_wakeup_fd(self._old_fd)
            for number, handler in self._before.items():
                signal.signal(number, handler)
        self._wake.close()  # the thread reads this as: over
        self._thread.join(self.times.grace_s)
        self._listen.close()

    def stopping(self, code: int) -> None:
        """The motors are being stopped: from now on the program has ``exit_s`` to end, or is ended with ``code``.

        After a signal that is the signal's code, whatever was asked for.
        """
        if self._ends_s is None:
            self._code = self._code or code
            self._ends_s = time.monotonic() + self.times.exit_s
            self._nudge(0)

    def hangs(self, error: SvmRobotError) -> None:
        """Somebody holds the main thread up: ``error`` is raised in it, if it can be; the rest is as after a signal."""
        self._hang = error
        if self._before:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        self._nudge(signal.SIGINT)  # also to a main thread that is deaf

    def _nudge(self, number: int) -> None:
        try:
            self._wake.send(bytes([number]))
        except OSError:
            return  # over already, or more to read than anybody needs

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first one is passed on as an exception, once. One that comes later must not cut the shutdown short."""
        first = not self._received and self._ends_s is None
        self._received.append(number)
        if not first:
            self.hurry()
            return
        if self._hang is not None and number == signal.SIGINT:
            self._code = self._hang.exit_code
            raise self._hang
        self._code = EXIT_CODES[number]
        before = self._before[number]
        if callable(before):
            before(number, frame)
        raise KeyboardInterrupt

    def _watch(self) -> None:
        asked_s: float | None = None
        code = 1
        while True:
            self._listen.settimeout(self._patience(asked_s))
            try:
                heard = self._listen.recv(64)
            except TimeoutError:
                heard = b"\0"
            except OSError:  # closed: over
                return
            if not heard:
                return
            if asked_s is None and (stops := [number for number in heard if number in STOPS]):
                asked_s = time.monotonic()
                code = self._hang.exit_code if self._hang is not None else EXIT_CODES[stops[0]]
            now_s = time.monotonic()
            if asked_s is not None and now_s >= asked_s + self.times.grace_s:
                self.stop_motors("the main thread hangs")
                self.stopping(code)
                asked_s = float("inf")
            if self._ends_s is not None and now_s >= self._ends_s:
                self._leave()
                return

    def _patience(self, asked_s: float | None) -> float | None:
        """Until there may be something to do [s]; None: only when something is heard."""
        moments = [] if asked_s is None else [asked_s + self.times.grace_s]
        moments += [] if self._ends_s is None else [self._ends_s]
        soonest = min(moments, default=float("inf"))
        return None if soonest == float("inf") else max(0.001, soonest - time.monotonic())

    def _leave(self) -> None:
        text = f"something still hangs {self.times.exit_s:g} s after the motors were stopped; the program is ended"
        last = threading.Thread(target=self.tell, args=(text,), daemon=True)
        last.start()
        last.join(TELL_S)
        self.leave(self._code or 1)
