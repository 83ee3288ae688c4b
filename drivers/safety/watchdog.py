"""Nobody commands the arm any more: hold it, and after a longer silence say that whoever should hangs."""

import threading
from collections.abc import Callable

from svm_robot.drivers.clock import Clock
from svm_robot.errors import DeviceError

RETRY_S = 0.1
"""The robot was busy when it should be held: tried again so soon."""


class Watchdog:
    """A thread that owns nothing but a moment in time. It runs from the first command to ``rest``.

    It never touches the robot itself: ``hold`` takes its turn as everybody does.
    """

    def __init__(
        self,
        clock: Clock,
        limit_s: float,
        hang_s: float,
        hold: Callable[[], object],
        hangs: Callable[[float], object] = lambda _: None,
    ) -> None:
        """``hold``: called once after ``limit_s`` without a command (0: never), again where it raises ``DeviceError``.

        ``hangs``: called once, with the seconds, after ``hang_s`` (0: never).
        """
        self.clock, self.limit_s, self.hang_s, self.hold, self.hangs = clock, limit_s, hang_s, hold, hangs
        self.late_s = 0.0
        """How long nobody had commanded when the arm was held; 0: it was not."""
        self._fed_s: float | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._end = self._told = False

    def feed(self) -> None:
        """A command was sent."""
        with self._changed:
            self._fed_s = self.clock.now_s()
            self._told = False
            if self._thread is None and not self._end and (self.limit_s or self.hang_s):
                self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
                self._thread.start()

    def rest(self) -> None:
        """No commands are expected now."""
        with self._changed:
            self._fed_s, self.late_s = None, 0.0

    def close(self) -> None:
        """End the thread; may be called twice."""
        with self._changed:
            self._end, self._fed_s = True, None
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(1.0)

    def _watch(self) -> None:
        with self._changed:
            while not self._end:
                due, silent_s = self._due()
                if due is None:
                    self._changed.wait(max(0.01, self._left_s(silent_s)))
                    continue
                self._changed.release()  # who is told may take its time, and may want to rest the watchdog
                try:
                    done = due(silent_s)
                finally:
                    self._changed.acquire()
                if not done:
                    self._changed.wait(RETRY_S)

    def _due(self) -> tuple[Callable[[float], bool] | None, float]:
        if self._fed_s is None:
            return None, 0.0
        silent_s = self.clock.now_s() - self._fed_s
        if self.hang_s and silent_s >= self.hang_s and not self._told:
            return self._hang, silent_s
        if self.limit_s and silent_s >= self.limit_s and not self.late_s:
            return self._hold, silent_s
        return None, silent_s

    def _left_s(self, silent_s: float) -> float:
        """Until something may be due: what is fed meanwhile only makes that later."""
        ends = [limit_s - silent_s for limit_s in (self.limit_s, self.hang_s) if limit_s > silent_s]
        return min(ends, default=max(self.limit_s, self.hang_s))

    def _hold(self, silent_s: float) -> bool:
        try:
            self.hold()
        except DeviceError:  # busy or gone; the loop will hear the same from its next call
            return False
        with self._changed:
            if self._fed_s is not None:
                self.late_s = silent_s
        return True

    def _hang(self, silent_s: float) -> bool:
        self._told = True
        self.hangs(silent_s)
        return True
