"""The steps of a shutdown: each with a time-out, on a thread that can be left behind, and with a line in the log."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from svm_robot.drivers.clock import Clock
from svm_robot.errors import DeviceError


@dataclass(frozen=True)
class StopTimes:
    """How long each step of a shutdown may take [s]."""

    hold_s: float = 1.5
    torque_s: float = 4.0
    """All motors together; a dead one costs a few tenths."""
    save_s: float = 60.0
    """The episode in progress, as aborted."""
    close_s: float = 20.0
    """The dataset, a teleoperator, the robot's port, each camera: each of them."""
    grace_s: float = 1.0
    """After a signal the main thread has so long before the motors are stopped without it."""
    exit_s: float = 120.0
    """After the motors were stopped the program ends within so long, whatever still hangs."""


@dataclass(frozen=True)
class Done:
    """One line of the log."""

    name: str
    took_s: float
    problem: Exception | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.problem or 'done'} ({self.took_s:.2f} s)"


class Steps:
    """Runs steps one after the other and remembers them. May be used from several threads."""

    def __init__(self, clock: Clock, log: list[Done] | None = None) -> None:
        """``log``: where the lines go, when others write there too."""
        self.clock = clock
        self.log = [] if log is None else log
        self.problems: list[Exception] = []
        """What went wrong in these steps, first error first."""

    def run(self, name: str, action: Callable[[], object], timeout_s: float) -> Exception | None:
        """Do it; returns what it raised, or a ``DeviceError`` when it hangs and was left behind.

        A Ctrl-C while it runs does not cut it short; it is raised when the step is over.
        """
        began_s, job = self.clock.now_s(), _Job(action)
        interrupted = start_surely(job.run, name, daemon=True)
        interrupted = job.wait(timeout_s) or interrupted
        problem = job.error if job.done.is_set() else _hangs(name, timeout_s)
        if problem is not None:
            self.problems.append(problem)
        self.log.append(Done(name, self.clock.now_s() - began_s, problem))
        if interrupted is not None:
            raise interrupted
        return problem


def start_surely(work: Callable[[], object], name: str, daemon: bool) -> KeyboardInterrupt | None:
    """Run ``work`` once on a thread of its own, whatever comes between. Returns a Ctrl-C that did."""
    once, begun = threading.Lock(), threading.Event()

    def first() -> None:
        if once.acquire(blocking=False):
            begun.set()
            work()

    interrupted = None
    while not begun.is_set():
        try:
            threading.Thread(target=first, name=name, daemon=daemon).start()
            begun.wait(1.0)
        except KeyboardInterrupt as error:
            interrupted = error
    return interrupted


class _Job:
    """One call on a thread of its own."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.action, self.done = action, threading.Event()
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.action()
        except BaseException as error:  # noqa: BLE001  (whatever it is: the next step must run)
            self.error = error if isinstance(error, Exception) else DeviceError(f"it was broken off: {error!r}")
        finally:
            self.done.set()

    def wait(self, timeout_s: float) -> KeyboardInterrupt | None:
        ends_s, interrupted = time.monotonic() + timeout_s, None
        while not self.done.is_set() and (left_s := ends_s - time.monotonic()) > 0:
            try:
                self.done.wait(left_s)
            except KeyboardInterrupt as error:
                interrupted = error
        return interrupted


def _hangs(name: str, timeout_s: float) -> DeviceError:
    return DeviceError(f"'{name}' did not end within {timeout_s:g} s and was left behind")
