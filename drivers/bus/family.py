"""What the bus must know of a family of motors beyond LeRobot's tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from svm_robot.drivers.bus.packets import Codec


@dataclass(frozen=True)
class Effort:
    """One block of registers that tells whether a motor does what it is told. Offsets and sizes are in bytes."""

    address: int
    length: int
    goal: tuple[int, int]
    position: tuple[int, int]
    load: tuple[int, int]
    idle: int
    """A load up to this is none at all."""
    decode: Mapping[str, Callable[[int], int]]
    """``position`` (also for the goal) and ``load``: unsigned word -> signed value."""

    def word(self, block: bytes, place: tuple[int, int]) -> int:
        """The unsigned word at (offset, size)."""
        return int.from_bytes(block[place[0] : sum(place)], "little")


@dataclass(frozen=True)
class Family:
    """One protocol and the registers behind it. The first byte of ``effort``'s block is Torque_Enable."""

    codec: Codec
    model_number: tuple[int, int]
    """Address and size."""
    effort: Effort
    fault_bits: Mapping[int, str]
    """Bit -> what it means."""
    alert: int | None
    """None: the error byte holds the fault bits. Otherwise the bit of it that says: read them at ``fault_address``."""
    fault_address: int
    keeps_limits: bool
    """True: a goal beyond the position limits is gone to as far as they allow."""
    refusals: Mapping[int, str]
    """Error numbers (the error byte without the alert) that say a request was refused -> why."""

    def faults(self, bits: int) -> tuple[str, ...]:
        """The names of the bits that are set."""
        named = tuple(name for bit, name in self.fault_bits.items() if bits & bit)
        return named or (f"fault 0x{bits:02x}",)
