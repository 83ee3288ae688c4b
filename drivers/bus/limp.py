"""Notices a motor that was told to hold and does not: its torque is off, or it makes no effort far from its goal."""

from svm_robot.drivers.bus.family import Effort

FAR = 57
"""Counts between goal and position that an honest motor works against (5 degrees)."""
STILL = 5
"""Counts that a motor may seem to move and be standing."""
CHECKS = 3
"""So many checks in a row must say that it makes no effort: a moving or braking motor may look idle once."""


class LimpWatch:
    """Says whom to ask next, and judges the answers. Pure."""

    def __init__(self, effort: Effort, motor_ids: tuple[int, ...], period_s: float) -> None:
        """Each motor is asked once in ``period_s``; 0: none ever is."""
        self.effort, self.motor_ids = effort, motor_ids
        self.step_s = period_s / len(motor_ids) if period_s and motor_ids else float("inf")
        self._due_s: float | None = None
        self._next = 0
        self._idle: dict[int, tuple[int, int]] = {}
        """Motor id -> its position when it last made no effort, and how often in a row."""

    def due(self, now_s: float) -> int | None:
        """The motor to ask now, if it is time for one."""
        if self._due_s is None:
            self._due_s = now_s + self.step_s
        if now_s < self._due_s:
            return None
        self._due_s = now_s + self.step_s
        self._next = (self._next + 1) % len(self.motor_ids)
        return self.motor_ids[self._next]

    def judge(self, motor_id: int, block: bytes, reach: tuple[int, int] | None) -> str | None:
        """Why this motor, whose torque was switched on, is limp; None: it is not, or nobody can tell yet.

        ``reach``: between which positions [counts] it will go for a goal; None: it was given no goal position (wheels).
        """
        if block[0] == 0:
            return "its torque is off although it was switched on"
        if reach is None:
            return None
        effort = self.effort
        position = effort.decode["position"](effort.word(block, effort.position))
        goal = min(max(effort.decode["position"](effort.word(block, effort.goal)), reach[0]), reach[1])
        load = effort.decode["load"](effort.word(block, effort.load))
        before, times = self._idle.pop(motor_id, (position, 0))
        if abs(goal - position) <= FAR or abs(load) > effort.idle or abs(position - before) > STILL:
            return None
        self._idle[motor_id] = position, times + 1
        if times + 1 < CHECKS:
            return None
        return f"it stands {abs(goal - position)} counts from its goal and makes no effort"

    def forget(self, motor_id: int) -> None:
        """It was switched off or on: what it did before counts no more."""
        self._idle.pop(motor_id, None)
