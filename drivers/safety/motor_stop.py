"""The motor-safe step: commands stop, the arm holds, is parked where the rig says so, lets go. Once."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from svm_robot.drivers.link import RobotLink
from svm_robot.drivers.safety.steps import Steps, StopTimes, start_surely


@dataclass(frozen=True)
class Moves:
    """What the steps do; each may raise, each may hang."""

    hold: Callable[[], object]
    torque_off: Callable[[], object] | None
    """None: the rig file says that the motors keep their torque."""
    park: Callable[[], object] | None = None
    park_s: float = 0.0
    """How long parking may take [s]."""


class MotorStop:
    """Runs on a thread of its own, which neither a second Ctrl-C nor a hanging main thread can cut short."""

    def __init__(self, link: RobotLink, moves: Moves, steps: Steps, times: StopTimes) -> None:
        self.link, self.moves, self.steps, self.times = link, moves, steps, times
        self.hurry = threading.Event()
        """Set by a second Ctrl-C: no more parking, let go."""
        self._first, self._begun = threading.Lock(), False
        self._over = threading.Event()

    @property
    def begun(self) -> bool:
        """True once anybody has asked for it."""
        return self._begun

    def run(self, why: str, park: bool) -> None:
        """Returns when the motors are safe, or were tried. ``why``: told to whoever sends a command afterwards.

        A second caller waits for the first one. A Ctrl-C is raised when it is over.
        """
        with self._first:
            first, self._begun = not self._begun, True
        interrupted: KeyboardInterrupt | None = None
        if first:
            interrupted = start_surely(partial(self._sequence, why, park), "motor stop", daemon=False)
        while not self._over.is_set():
            try:
                self._over.wait()
            except KeyboardInterrupt as error:
                interrupted = error
                self.hurry.set()
        if interrupted is not None:
            raise interrupted

    def _sequence(self, why: str, park: bool) -> None:
        try:
            moves, times, ran = self.moves, self.times, self.steps.run
            self.link.stopped = why
            held = ran("hold", moves.hold, times.hold_s)
            if moves.park is not None and park and held is None and not self.hurry.is_set():
                ran("park", moves.park, moves.park_s)
            if moves.torque_off is not None:
                ran("torque off", moves.torque_off, times.torque_s)
        finally:
            self._over.set()
