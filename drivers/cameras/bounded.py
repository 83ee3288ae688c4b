"""Calls into drivers that may never come back."""

import threading
from collections.abc import Callable

from svm_robot.errors import DeviceError


class Bounded:
    """Runs one call at a time in a thread, and gives it up after a time-out.

    A thread that hangs inside a driver cannot be killed. It is a daemon, so it does not keep the program from ending;
    until it comes back no other call is started.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._hanging: threading.Thread | None = None

    @property
    def hangs(self) -> bool:
        """True while an earlier call has not come back."""
        return self._hanging is not None and self._hanging.is_alive()

    def call(self, action: Callable[[], object], timeout_s: float, what: str, undo: Callable[[], object]) -> None:
        """Do ``action`` within ``timeout_s``; what it raises is raised here.

        Raises ``DeviceError`` that says ``what`` took too long. Comes the call back later, then ``undo`` is done.
        """
        if self.hangs:
            raise DeviceError(f"{what} still hangs since an earlier try; unplug the device and plug it in again")
        job = _Job(action, undo)
        thread = threading.Thread(target=job.run, name=f"{what} of {self.name}", daemon=True)
        self._hanging = thread
        thread.start()
        try:
            job.done.wait(timeout_s)
        finally:
            abandoned = job.abandon()
        if abandoned:
            raise DeviceError(
                f"{what} does not come back within {timeout_s:g} s and was given up (its thread goes on waiting, but "
                "does not keep this program from ending); unplug the device and plug it in again"
            )
        thread.join()
        if job.error is not None:
            raise job.error


class _Job:
    """One call, which either its caller or its own late end cleans up; a lock decides which."""

    def __init__(self, action: Callable[[], object], undo: Callable[[], object]) -> None:
        self.action, self.undo = action, undo
        self.done, self.error = threading.Event(), None  # type: tuple[threading.Event, BaseException | None]
        self._lock, self._abandoned = threading.Lock(), False

    def run(self) -> None:
        try:
            self.action()
        except BaseException as error:  # noqa: BLE001  (raised again in the thread that waits)
            self.error = error
        with self._lock:
            self.done.set()
            late = self._abandoned and self.error is None
        if late:
            self.undo()

    def abandon(self) -> bool:
        """True when the call is not done; it then cleans up after itself."""
        with self._lock:
            self._abandoned = not self.done.is_set()
            return self._abandoned
