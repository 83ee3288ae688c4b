"""What the bus tells people: which joint, which id, which port, and what to look at."""

from collections.abc import Iterable, Mapping, Sequence

from svm_robot.drivers.bus.counters import Counters
from svm_robot.drivers.bus.faults import Fault
from svm_robot.drivers.bus.line import LineGone
from svm_robot.errors import DeviceError, JointFault


class Wording:
    """Knows the names."""

    def __init__(self, port: str, names: Mapping[int, str], counters: Mapping[int, Counters]) -> None:
        """``names``: motor id -> joint."""
        self.port, self.names, self.counters = port, names, counters
        self.gone = False
        """True once somebody was told that the port is gone."""

    def who(self, motor_ids: Iterable[int]) -> str:
        """``elbow_flex (id 3) on /dev/ttyACM0``."""
        named = ", ".join(f"{self.names.get(motor_id, 'motor')} (id {motor_id})" for motor_id in motor_ids)
        return f"{named} on {self.port}"

    def silence(self, motor_ids: Sequence[int]) -> DeviceError:
        """No whole reply came from these."""
        told = "; ".join(f"{self.names[i]}: {self.counters[i]}" for i in motor_ids if self.counters.get(i))
        return DeviceError(
            f"no answer from {self.who(motor_ids)} ({told or 'silent'}); check its cable and the arm's power"
        )

    def lost_line(self, error: LineGone, motor_ids: Iterable[int]) -> DeviceError:
        """Told in full once: everything that is tried afterwards fails for the same reason."""
        if self.gone:
            return DeviceError(f"{self.port} is gone")
        self.gone = True
        return DeviceError(
            f"{self.port} is gone ({error}) while talking to {self.who(motor_ids)}; is the USB cable loose?"
        )

    def fault(self, *faults: Fault) -> JointFault:
        """These joints are not moved any more."""
        told = "; ".join(f"{self.who((fault.motor_id,))}: {fault}" for fault in faults)
        return JointFault(
            f"{told}; it is not moved any more. Relieve the joint, check its supply, then start again",
            self.names[faults[0].motor_id],
            faults[0].kinds,
        )
