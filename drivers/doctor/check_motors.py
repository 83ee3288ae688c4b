"""Who is on the line: ids expected and found, models, two motors with one id, another baud rate."""

from collections.abc import Iterator, Sequence

from svm_robot.drivers.bus.roll_call import RollCall, call_roll, complaint
from svm_robot.drivers.doctor.arms import Arm
from svm_robot.drivers.doctor.finding import Finding, note, ok, problem

NEAR_IDS = range(21)
"""Where a motor with a wrong id usually is: the factory's 1, or a neighbour."""
ALL_IDS = range(253)
SCAN_REPLY_S = 0.004
RATES = (1_000_000, 500_000, 57_600, 115_200, 250_000, 2_000_000, 3_000_000)
"""Baud rates that these motors are found with, likeliest first."""


def roll(arm: Arm) -> RollCall:
    """What each motor of this arm answers."""
    bus = arm.bus
    return call_roll(bus.exchange, bus.ids, bus.family.model_number, 2, bus.settings.reply_timeout_s)


def check_motors(arm: Arm, answers: RollCall, full: bool) -> Iterator[Finding]:
    """``full``: look under every id and at every baud rate, also when nobody is missing."""
    bus = arm.bus
    expected = {motor.id: bus.model_number_table[motor.model] for motor in bus.motors.values()}
    wrong = complaint(answers, bus.names, expected, arm.port)
    strangers = _strangers(arm, ALL_IDS if full else NEAR_IDS) if full or answers.silent else []
    if not wrong:
        models = ", ".join(sorted({motor.model for motor in bus.motors.values()}))
        what = f"ids {_ids(bus.ids)} answer, as {models}"
        yield ok("motors", what, values={"expected": bus.ids, "found": sorted(answers.models)})
    else:
        yield from _wrong(arm, answers, expected, wrong)
    if strangers:
        likely = f"; one of them may be {bus.names[answers.silent[0]]}" if answers.silent else ""
        advice = "give each motor its id: connect them one at a time and run lerobot-setup-motors"
        yield note("motors", f"motors that nobody expects answer as id {_ids(strangers)}{likely}", next=advice)
    if (full and wrong) or not answers.models:
        yield from _other_rates(arm)


def _wrong(arm: Arm, answers: RollCall, expected: dict[int, int], told: str) -> Iterator[Finding]:
    """One finding per joint, with the ranked causes of the whole."""
    _, _, hints = told.partition("Likely: ")
    first = hints.partition("; 2. ")[0].removeprefix("1. ")
    reasons = {
        **dict.fromkeys(answers.silent, "does not answer"),
        **dict.fromkeys(answers.garbled, "answers with what cannot be understood"),
        **dict.fromkeys(answers.twice, "is the id of two motors: both answer"),
    }
    for motor_id, model in answers.models.items():
        if model != expected[motor_id]:
            reasons[motor_id] = f"is model {model}, expected {expected[motor_id]}"
    values = {"expected": arm.bus.ids, "found": sorted(answers.models)}
    for motor_id, reason in sorted(reasons.items()):
        what = f"id {motor_id} {reason}"
        yield problem("motors", what, cause=hints, next=_step(first), joint=arm.bus.names[motor_id], values=values)


def _step(hint: str) -> str:
    """What to do about the likeliest cause."""
    return f"first: {hint}" if "lerobot" in hint or "run" in hint else f"look whether {hint}; then run doctor again"


def _strangers(arm: Arm, ids: Sequence[int]) -> list[int]:
    """Ids that answer although no joint has them."""
    exchange, place = arm.bus.exchange, arm.bus.family.model_number
    others = [motor_id for motor_id in ids if motor_id not in arm.bus.ids]
    return [motor_id for motor_id in others if exchange.read(motor_id, *place, 1, SCAN_REPLY_S) is not None]


def _other_rates(arm: Arm) -> Iterator[Finding]:
    """Nobody can be understood: listen at other baud rates. The port is put back to its own."""
    port, exchange = arm.bus.port_handler.ser, arm.bus.exchange
    own, place = port.baudrate, arm.bus.family.model_number
    try:
        for rate in [rate for rate in RATES if rate != own]:
            port.baudrate = rate
            exchange.clear_input()
            found = [i for i in arm.bus.ids if exchange.read(i, *place, 1, 2 * SCAN_REPLY_S) is not None]
            if found:
                what = f"at {rate} baud ids {_ids(found)} answer; LeRobot talks at {own}"
                yield problem("motors", what, cause="another baud rate is stored in them", next="lerobot-setup-motors")
    finally:
        port.baudrate = own
        exchange.clear_input()


def _ids(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids))
