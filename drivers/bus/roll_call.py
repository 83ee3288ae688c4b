"""Who is on the line, asked one by one before anything is written; and what it may mean when somebody is not."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from svm_robot.drivers.bus.exchange import Exchange
from svm_robot.drivers.bus.packets import Status

QUIET_S = 0.003
"""Two motors with one id answer within this time of each other."""


@dataclass
class RollCall:
    """What each id answered."""

    models: dict[int, int] = field(default_factory=dict)
    """Motor id -> the model number it gives."""
    silent: list[int] = field(default_factory=list)
    """No byte came."""
    garbled: list[int] = field(default_factory=list)
    """Bytes came, and no whole reply."""
    twice: list[int] = field(default_factory=list)
    """More than one reply to one request."""


def call_roll(
    exchange: Exchange, motor_ids: list[int], model_number: tuple[int, int], tries: int, reply_s: float
) -> RollCall:
    """Ask each for its model number."""
    roll = RollCall()
    for motor_id in motor_ids:
        before = _damage(exchange)
        reply, more = _ask(exchange, motor_id, model_number, tries, reply_s)
        if reply is not None:
            roll.models[motor_id] = int.from_bytes(reply.data, "little")
            if more and _ask(exchange, motor_id, model_number, tries, reply_s)[1]:  # twice, so it is no accident
                roll.twice.append(motor_id)
        elif _damage(exchange) > before:
            roll.garbled.append(motor_id)
        else:
            roll.silent.append(motor_id)
    return roll


def _ask(
    exchange: Exchange, motor_id: int, model_number: tuple[int, int], tries: int, reply_s: float
) -> tuple[Status | None, bool]:
    """The reply, and whether another one came that nobody had asked for."""
    before = exchange.counters[motor_id].junk
    reply = exchange.read(motor_id, *model_number, tries, reply_s)
    exchange.clear_input(QUIET_S)
    return reply, exchange.counters[motor_id].junk > before


def complaint(roll: RollCall, names: Mapping[int, str], models: Mapping[int, int], port: str) -> str:
    """What is wrong and what it may mean, likeliest first; empty when everybody is there and is who they should be."""
    told = []
    hints: list[str] = []
    if roll.silent:
        told.append(f"no answer from {_listed(roll.silent, names)}")
        hints += _silence(roll, names)
    if roll.garbled:
        told.append(f"{_listed(roll.garbled, names)} cannot be understood")
        if roll.models:
            hints.append("two motors have the same id (connect them one at a time: lerobot-setup-motors)")
        hints += ["the motors have another baud rate (lerobot-setup-motors)", "the port belongs to another device"]
    if roll.twice:
        told.append(f"two motors answer as {_listed(roll.twice, names)}")
        hints.append("give each its own id: connect them one at a time and run lerobot-setup-motors")
    wrong = [motor_id for motor_id, model in roll.models.items() if model != models[motor_id]]
    if wrong:
        found = ", ".join(f"{_listed([i], names)} is model {roll.models[i]}, not {models[i]}" for i in wrong)
        told.append(found)
        hints.append("this port belongs to another arm, or the robot's type is another one")
    if not told:
        return ""
    ranked = "; ".join(f"{number}. {hint}" for number, hint in enumerate(dict.fromkeys(hints), start=1))
    return f"{port}: {' and '.join(told)}. Likely: {ranked}"


def _silence(roll: RollCall, names: Mapping[int, str]) -> list[str]:
    if not roll.models and not roll.garbled:
        return [
            "the arm has no power",
            "this is the port of another device (lerobot-find-port)",
            "the cable from the adapter to the first motor is loose",
            "the motors have another baud rate (lerobot-setup-motors)",
        ]
    first = roll.silent[0]
    hints = [f"the cable to {names[first]} is loose", f"{names[first]} has another id (lerobot-setup-motors)"]
    if len(roll.silent) == 1:
        hints.append(f"{names[first]} is broken")
    return hints


def _listed(motor_ids: list[int], names: Mapping[int, str]) -> str:
    return ", ".join(f"{names[motor_id]} (id {motor_id})" for motor_id in motor_ids)


def _damage(exchange: Exchange) -> int:
    return sum(counters.crc + counters.short + counters.junk for counters in exchange.counters.values())
