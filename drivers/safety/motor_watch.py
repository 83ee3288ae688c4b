"""What the motors tell of themselves while they work: too hot, too much current, too much effort."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from svm_robot.drivers.clock import Clock
from svm_robot.drivers.safety.config import HOT, MotorLimits
from svm_robot.errors import ConfigError, DeviceError, JointFault


class Register(NamedTuple):
    """One quantity of one model."""

    name: str
    """LeRobot's."""
    worth: float
    """Of one count."""
    sign_bit: bool = False
    """True: bit 15 is the sign, and LeRobot leaves it in the word; else a negative word is a two's complement."""


TEMPERATURE = Register("Present_Temperature", 1.0)
FEETECH: Mapping[str, Register] = {
    "temperature": TEMPERATURE,
    "current": Register("Present_Current", 6.5, sign_bit=True),
    "load": Register("Present_Load", 0.1),
}
NO_CURRENT: Mapping[str, Register] = {
    "temperature": TEMPERATURE,
    "load": Register("Present_Current", 0.1),  # these models keep their load where the others have their current
}


def dynamixel(current_ma: float) -> Mapping[str, Register]:
    """A model that measures its current, in steps of so many mA."""
    return {"temperature": TEMPERATURE, "current": Register("Present_Current", current_ma)}


REGISTERS: Mapping[str, Mapping[str, Register]] = {
    **dict.fromkeys(("sts3215", "sts3250"), FEETECH),
    **dict.fromkeys(("xl430-w250", "xc430-w150"), NO_CURRENT),
    **dict.fromkeys(("xl330-m077", "xl330-m288", "xc330-t181", "xc330-t288"), dynamixel(1.0)),
    **dict.fromkeys(("xm430-w350", "xm540-w270", "xh540-w150"), dynamixel(2.69)),
}
"""Model of a motor -> what it tells: temperature [deg C], current [mA], load [% of the greatest one]."""

UNITS = {"temperature": "deg C", "current": "mA", "load": "% of its greatest effort"}
CURES = {
    "temperature": "let it cool down, and lighten what it carries",
    "current": "relieve the joint: does it push against something?",
    "load": "relieve the joint: does it push against something?",
}
UNREAD = 5
"""So many readings in a row that failed: nobody knows how the motors are."""


@dataclass(frozen=True)
class Group:
    """One register of the motors that have it, read together."""

    quantity: str
    limits: Mapping[str, float]
    """Motor -> the greatest value allowed."""
    registers: Mapping[str, Register]
    """Motor -> where it keeps it; the same name for all."""

    @property
    def name(self) -> str:
        """LeRobot's name of the register."""
        return next(iter(self.registers.values())).name


class MotorWatch:
    """Reads one group of registers after every few control steps, and judges it."""

    def __init__(self, bus: Any, limits: MotorLimits, clock: Clock) -> None:
        """``bus``: LeRobot's or ours; None where the robot shows none.

        Raises ``ConfigError`` for a limit of something that no motor of this robot tells, or of an unknown joint.
        """
        self.bus, self.config, self.clock = bus, limits, clock
        self.groups = _groups(bus, limits)
        self._ticks = self._next = self._unread = 0
        self._above_s: dict[tuple[str, str], float] = {}
        """(quantity, motor) -> since when it has been above its limit [s]."""

    def look(self) -> None:
        """To be called once in a control step, after the joints were read and before targets are sent.

        Raises ``JointFault`` naming the joint, or ``DeviceError`` when the motors cannot be asked any more.
        """
        self._ticks += 1
        if not self.groups or self._ticks % self.config.every_ticks:
            return
        group = self.groups[self._next % len(self.groups)]
        self._next += 1
        try:
            found = self.bus.sync_read(group.name, list(group.limits), normalize=False)
        except JointFault:
            raise
        except (OSError, RuntimeError) as error:  # one lost reply is the bus's daily bread
            self._unread += 1
            if self._unread >= UNREAD:
                raise DeviceError(f"{group.name} could not be read {UNREAD} times in a row: {error}") from error
            return
        self._unread = 0
        now_s = self.clock.now_s()
        for motor, limit in group.limits.items():
            self._judge(group.quantity, motor, size(found[motor], group.registers[motor]), limit, now_s)

    def _judge(self, quantity: str, motor: str, value: float, limit: float, now_s: float) -> None:
        if value <= limit:
            self._above_s.pop((quantity, motor), None)
            return
        since_s = self._above_s.setdefault((quantity, motor), now_s)
        patience_s = 0.0 if quantity == "temperature" else self.config.overload_s
        if now_s - since_s < patience_s:
            return
        lasting = f" for {now_s - since_s:.1f} s" if patience_s else ""
        raise JointFault(
            f"{motor} on {getattr(self.bus, 'port', 'its bus')}: {quantity} {value:.0f} {UNITS[quantity]}{lasting}, "
            f"safety.motors allows {limit:g}; {CURES[quantity]}",
            motor,
            (quantity,),
        )


def size(word: float, register: Register) -> float:
    """The size of a value, without its sign. LeRobot decodes the sign of some registers and leaves it in others."""
    count = int(word)
    if register.sign_bit:
        count &= 0x7FFF
    elif count > 0x7FFF:
        count -= 0x10000
    return abs(count) * register.worth


def _groups(bus: Any, limits: MotorLimits) -> list[Group]:
    """What is to be read: a group for each quantity that is limited, and for each name its register has."""
    motors: Mapping[str, Any] = getattr(bus, "motors", None) or {}
    own = {joint.removesuffix(".pos"): load for joint, load in limits.max_load_by_joint.items()}
    if unknown := sorted(set(own) - set(motors)):
        raise ConfigError(
            f"safety.motors.max_load_by_joint names {', '.join(unknown)}; its motors: {', '.join(motors) or 'unknown'}"
        )
    hot = HOT if limits.max_temperature is None else limits.max_temperature
    wanted: dict[str, Mapping[str, float | None]] = {
        "temperature": dict.fromkeys(motors, hot or None),
        "current": dict.fromkeys(motors, limits.max_current),
        "load": {motor: own.get(motor, limits.max_load) for motor in motors},
    }
    asked = {
        "temperature": bool(limits.max_temperature),
        "current": limits.max_current is not None,
        "load": limits.max_load is not None,
    }
    found: list[Group] = []
    for quantity, allowed in wanted.items():
        told = _told(bus, quantity, {motor: limit for motor, limit in allowed.items() if limit is not None})
        silent = set(own) - set(told) if quantity == "load" else set()
        if (asked[quantity] and not told) or silent:
            who = ", ".join(sorted(silent)) or "no motor of this robot"
            raise ConfigError(f"safety.motors limits the {quantity}, but {who} tells it in a way that is known here")
        for name in dict.fromkeys(register.name for _, register in told.values()):
            its = {motor: pair for motor, pair in told.items() if pair[1].name == name}
            ends = {motor: limit for motor, (limit, _) in its.items()}
            found.append(Group(quantity, ends, {motor: register for motor, (_, register) in its.items()}))
    return found


def _told(bus: Any, quantity: str, limits: Mapping[str, float]) -> dict[str, tuple[float, Register]]:
    """Of the motors in ``limits`` those that tell the quantity: motor -> its limit, its register."""
    if not hasattr(bus, "sync_read"):
        return {}
    known = {motor: REGISTERS.get(getattr(bus.motors[motor], "model", ""), {}).get(quantity) for motor in limits}
    return {motor: (limits[motor], register) for motor, register in known.items() if register is not None}
