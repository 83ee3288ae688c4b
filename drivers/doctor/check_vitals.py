"""How each motor is: firmware, voltage, temperature, fault bits, torque. Reads registers only."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from svm_robot.drivers.doctor.arms import Arm
from svm_robot.drivers.doctor.finding import Finding, note, ok, problem

VOLTAGE = ("Present_Voltage", "Present_Input_Voltage")
FIRMWARE = (("Firmware_Major_Version", "Firmware_Minor_Version"), ("Firmware_Version",))
HOTTEST = ("Max_Temperature_Limit", "Temperature_Limit")
WARM_C = 15
"""So near to its limit a motor is worth a note [deg C]."""
DROP = 0.08
"""A motor may see this share less than the best one: more is lost in the cable."""
CURES = {
    "voltage": ("the supply is too weak or of the wrong voltage", "check the supply: 7.4 V or 12 V as the motors ask"),
    "overload": ("something blocks or pulls the joint", "relieve the joint, then switch the arm's power off and on"),
    "overheat": ("the motor worked too hard for too long", "let it cool down"),
}


@dataclass(frozen=True)
class Vitals:
    """Of one motor; None where it has no such register."""

    firmware: str | None
    voltage_v: float | None
    voltage_range_v: tuple[float, float] | None
    temperature_c: int | None
    hottest_c: int | None
    faults: tuple[str, ...]
    torque: bool

    @property
    def is_warm(self) -> bool:
        """True near the temperature at which it switches itself off."""
        return None not in (self.temperature_c, self.hottest_c) and self._left_c < WARM_C

    @property
    def _left_c(self) -> int:
        return (self.hottest_c or 0) - (self.temperature_c or 0)


def vitals(arm: Arm, motor_id: int) -> Vitals:
    """Read one motor. Raises ``DeviceError`` when it does not answer."""
    bus, joint = arm.bus, arm.bus.names[motor_id]
    table = bus.model_ctrl_table[bus.motors[joint].model]

    def first(*names: str) -> int | None:
        known = next((name for name in names if name in table), None)
        return None if known is None else int(bus.read(known, joint, normalize=False))

    numbers = next((names for names in FIRMWARE if names[0] in table), ())
    firmware = ".".join(str(first(name)) for name in numbers) or None
    low, high, volts = first("Min_Voltage_Limit"), first("Max_Voltage_Limit"), first(*VOLTAGE)
    bits = bus.sentry.bits(motor_id, bus.exchange, tries=3) or 0
    return Vitals(
        firmware,
        None if volts is None else volts / 10,
        None if low is None or high is None else (low / 10, high / 10),
        first("Present_Temperature"),
        first(*HOTTEST),
        bus.family.faults(bits) if bits else (),
        bool(first("Torque_Enable")),
    )


def check_vitals(arm: Arm, motor_ids: Sequence[int]) -> Iterator[Finding]:
    """One line per motor, and what stands out among them."""
    found = {motor_id: vitals(arm, motor_id) for motor_id in motor_ids}
    for motor_id, one in found.items():
        joint, values = arm.bus.names[motor_id], asdict(one)
        worse = list(_bad(one, joint, values))
        yield from worse or [ok("vitals", _words(one), joint=joint, values=values)]
    yield from _together(arm, found)


def _bad(one: Vitals, joint: str, values: dict[str, Any]) -> Iterator[Finding]:
    where: dict[str, Any] = {"joint": joint, "values": values}
    for fault in one.faults:
        cause, cure = CURES.get(fault, ("see the motor's manual", "switch the arm's power off and on"))
        yield problem("vitals", f"reports {fault} ({_words(one)})", cause=cause, next=cure, **where)
    if one.voltage_v is not None and one.voltage_range_v is not None and "voltage" not in one.faults:
        low, high = one.voltage_range_v
        if not low <= one.voltage_v <= high:
            what = f"{one.voltage_v:g} V, outside of {low:g} to {high:g} V"
            yield problem("vitals", what, cause=CURES["voltage"][0], next=CURES["voltage"][1], **where)
    if one.is_warm and "overheat" not in one.faults:
        what = f"{one.temperature_c} deg C; it switches off at {one.hottest_c}"
        yield note("vitals", what, cause=CURES["overheat"][0], next=CURES["overheat"][1], **where)


def _together(arm: Arm, found: dict[int, Vitals]) -> Iterator[Finding]:
    names = arm.bus.names
    if holding := [names[motor_id] for motor_id, one in found.items() if one.torque]:
        what = f"torque is on in {', '.join(holding)}; it was left as it is"
        cause, advice = "an earlier program ended without switching it off", "hold the arm before you cut its power"
        yield note("vitals", what, cause=cause, next=advice)
    volts = {motor_id: one.voltage_v for motor_id, one in found.items() if one.voltage_v is not None}
    if volts:
        best, worst = max(volts.values()), min(volts, key=lambda motor_id: volts[motor_id])
        if volts[worst] < (1 - DROP) * best:
            what = f"sees {volts[worst]:g} V where another motor has {best:g} V"
            yield note("vitals", what, cause="a thin or loose cable to it", next="reseat its plugs", joint=names[worst])
    versions = Counter(one.firmware for one in found.values() if one.firmware)
    if len(versions) > 1 and arm.bus.family.keeps_limits:
        listed = ", ".join(f"{names[motor_id]} {one.firmware}" for motor_id, one in found.items())
        advice = "bring them to one version with Feetech's software"
        cause = "a motor was replaced; LeRobot refuses that"
        yield problem("vitals", f"different firmware: {listed}", cause=cause, next=advice)


def _words(one: Vitals) -> str:
    parts = [f"firmware {one.firmware}" if one.firmware else ""]
    parts += [f"{one.voltage_v:g} V" if one.voltage_v is not None else ""]
    parts += [f"{one.temperature_c} deg C" if one.temperature_c is not None else ""]
    return ", ".join(part for part in parts if part) or "answers"
