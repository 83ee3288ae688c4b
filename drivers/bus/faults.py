"""Faults that motors report about themselves, kept apart from packets that get lost."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """Of one motor."""

    motor_id: int
    kinds: tuple[str, ...]
    """``overload``, ``voltage``, ..., or ``limp``."""
    reason: str = ""
    """More about it, for people."""

    def __str__(self) -> str:
        return self.reason or f"it reports {' and '.join(self.kinds)}"


@dataclass
class FaultLedger:
    """Which motors are driven, which are faulted, and which faults nobody was told of yet."""

    driven: set[int] = field(default_factory=set)
    """Motors whose torque we switched on. Only these can become faulted: one that is off has nothing to stop."""
    faults: dict[int, Fault] = field(default_factory=dict)
    _untold: list[Fault] = field(default_factory=list)

    def note(self, fault: Fault) -> None:
        """Kept until ``clear``; one fault per motor, so that a bit in every reply is one event."""
        if fault.motor_id in self.driven and fault.motor_id not in self.faults:
            self.faults[fault.motor_id] = fault
            self._untold.append(fault)

    def untold(self) -> list[Fault]:
        """Those that came since the last call."""
        told, self._untold = self._untold, []
        return told

    def clear(self, motor_id: int) -> None:
        """Forget this motor's fault: it was dealt with."""
        self.faults.pop(motor_id, None)
        self._untold = [fault for fault in self._untold if fault.motor_id != motor_id]
