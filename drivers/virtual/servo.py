"""The register file of one STS3215 bus servo, byte for byte. Pure: no port, no clock, no physics.

Words are little-endian; signed ones are sign-magnitude with the sign in the bit that the data sheet names. Positions
are counts, 4096 to one turn. The servo shows ``Present_Position = encoder - Homing_Offset``.

Not modelled: the servo's own speed and acceleration profile, its PID gains (the physics has a servo) and wheel mode.
"""

from dataclasses import dataclass

COUNTS_PER_TURN = 4096
MODEL_STS3215 = 777
FIRMWARE = (3, 10)
FULL_LOAD = 1000
"""Present_Load of a stalled motor [.1 %]."""
STALL_CURRENT = 400
"""Present_Current of a stalled motor [6.5 mA]."""


@dataclass(frozen=True)
class Register:
    """Where a value lies. ``sign_bit`` None: unsigned."""

    address: int
    size: int
    sign_bit: int | None = None


ID = Register(5, 1)
STATUS_LEVEL = Register(8, 1)
"""0: only ping and read are answered; 1: everything is."""
MIN_POSITION = Register(9, 2)
MAX_POSITION = Register(11, 2)
HOMING_OFFSET = Register(31, 2, sign_bit=11)
TORQUE_ENABLE = Register(40, 1)
GOAL_POSITION = Register(42, 2, sign_bit=15)
LOCK = Register(55, 1)
PRESENT_POSITION = Register(56, 2, sign_bit=15)
PRESENT_VELOCITY = Register(58, 2, sign_bit=15)
PRESENT_LOAD = Register(60, 2, sign_bit=10)
STATUS = Register(65, 1)
MOVING = Register(66, 1)
PRESENT_CURRENT = Register(69, 2, sign_bit=15)

FIRST_SRAM = 40
"""Below: EEPROM, kept through a power cycle when written while Lock is 0."""
READ_ONLY = frozenset([*range(5), *range(56, 73)])
FACTORY = {
    Register(0, 1): FIRMWARE[0],
    Register(1, 1): FIRMWARE[1],
    Register(3, 2): MODEL_STS3215,
    Register(7, 1): 250,  # Return_Delay_Time [2 us]
    STATUS_LEVEL: 1,
    MAX_POSITION: COUNTS_PER_TURN - 1,
    Register(13, 1): 70,  # Max_Temperature_Limit [deg C]
    Register(14, 1): 80,  # Max_Voltage_Limit [.1 V]
    Register(15, 1): 40,  # Min_Voltage_Limit [.1 V]
    Register(16, 2): FULL_LOAD,  # Max_Torque_Limit
    Register(18, 1): 12,  # Phase
    Register(19, 1): 44,  # Unloading_Condition: overload, overcurrent, overheat
    Register(20, 1): 47,  # LED_Alarm_Condition
    Register(21, 1): 32,  # P_Coefficient
    Register(22, 1): 32,  # D_Coefficient
    Register(24, 2): 16,  # Minimum_Startup_Force
    Register(28, 2): 500,  # Protection_Current [6.5 mA]
    Register(34, 1): 20,  # Protective_Torque [%]
    Register(35, 1): 200,  # Protection_Time [10 ms]
    Register(36, 1): 80,  # Overload_Torque [%]
    Register(48, 2): FULL_LOAD,  # Torque_Limit
    LOCK: 1,
    Register(62, 1): 74,  # Present_Voltage [.1 V]
    Register(63, 1): 30,  # Present_Temperature [deg C]
}


def to_word(value: int, register: Register) -> bytes:
    """``value`` as the bytes of a register. Raises ``ValueError`` when it does not fit."""
    magnitude = abs(value) if register.sign_bit is not None else value
    limit = 1 << (register.sign_bit if register.sign_bit is not None else 8 * register.size)
    if not 0 <= magnitude < limit:
        raise ValueError(f"{value} does not fit into the register at address {register.address} (below {limit})")
    sign = limit if value < 0 else 0
    return (magnitude | sign).to_bytes(register.size, "little")


def from_word(data: bytes, register: Register) -> int:
    """The value behind the bytes of a register."""
    word = int.from_bytes(data, "little")
    if register.sign_bit is None:
        return word
    sign = 1 << register.sign_bit
    return -(word & (sign - 1)) if word & sign else word & (sign - 1)


class Servo:
    """One servo. Addresses outside the map read as 0; writes to read-only addresses are ignored, as by the real one."""

    def __init__(self, servo_id: int, homing_offset: int = 0, limits: tuple[int, int] = (0, 4095)) -> None:
        self.error: int = 0
        """Fault bits (``ErrorBit``); they go into every reply."""
        self._staged: tuple[int, bytes] | None = None
        self._memory = bytearray(256)
        for register, value in FACTORY.items():
            self.set(register, value)
        self.set(ID, servo_id)
        self.set(HOMING_OFFSET, homing_offset)
        self.set(MIN_POSITION, limits[0])
        self.set(MAX_POSITION, limits[1])
        self._at_power_on = bytes(self._memory)
        self.measure(COUNTS_PER_TURN // 2, 0, 0.0)
        self.hold()

    def get(self, register: Register) -> int:
        """One value, decoded."""
        return from_word(bytes(self._memory[register.address : register.address + register.size]), register)

    def set(self, register: Register, value: int) -> None:
        """One value, also where the host may only read."""
        self._memory[register.address : register.address + register.size] = to_word(value, register)

    @property
    def servo_id(self) -> int:
        """The id that it answers to now (a host may change it)."""
        return self.get(ID)

    @property
    def torque(self) -> bool:
        """True while the motor holds its goal."""
        return self.get(TORQUE_ENABLE) == 1

    @property
    def target(self) -> int:
        """Where the motor drives the encoder [counts]: the goal inside the position limits, plus the homing offset."""
        low, high = self.get(MIN_POSITION), self.get(MAX_POSITION)
        return min(max(self.get(GOAL_POSITION), low), high) + self.get(HOMING_OFFSET)

    def read(self, address: int, length: int) -> bytes:
        """What a READ returns."""
        return bytes(self._memory[address : address + length]).ljust(length, b"\0")

    def write(self, address: int, data: bytes) -> None:
        """What a WRITE does. Switching torque on takes the present position as goal, so nothing jumps."""
        was_on = self.torque
        unlocked = self.get(LOCK) == 0
        for offset, byte in enumerate(data):
            if address + offset < len(self._memory) and address + offset not in READ_ONLY:
                self._memory[address + offset] = byte
        if unlocked and address < FIRST_SRAM:
            self._at_power_on = bytes(self._memory[:FIRST_SRAM]) + self._at_power_on[FIRST_SRAM:]
        self._show_position()  # the write may have moved the zero
        if self.torque and not was_on:
            self.hold()

    def stage(self, address: int, data: bytes) -> None:
        """What a REG_WRITE does: wait for ``act``."""
        self._staged = (address, data)

    def act(self) -> None:
        """What an ACTION does."""
        if self._staged is not None:
            self.write(*self._staged)
        self._staged = None

    def hold(self) -> None:
        """Make the present position the goal."""
        self.set(GOAL_POSITION, self.get(PRESENT_POSITION))

    def measure(self, encoder: int, velocity: int, load: float) -> None:
        """What its sensors say now: encoder [counts], velocity [counts/s], load -1..1 of the stall torque."""
        self._encoder = encoder
        self._show_position()
        self.set(PRESENT_VELOCITY, max(-32767, min(32767, velocity)))
        load = max(-1.0, min(1.0, load)) if self.torque else 0.0
        self.set(PRESENT_LOAD, round(load * FULL_LOAD))
        self.set(PRESENT_CURRENT, round(abs(load) * STALL_CURRENT))
        self.set(MOVING, int(abs(velocity) > 20))
        self.set(STATUS, int(self.error))

    def power_cycle(self) -> None:
        """Off and on again: SRAM back to its defaults, EEPROM as it was last written with the lock open."""
        self._memory[:] = self._at_power_on
        self._staged = None
        self.measure(self._encoder, 0, 0.0)
        self.hold()

    def _show_position(self) -> None:
        self.set(PRESENT_POSITION, (self._encoder - self.get(HOMING_OFFSET)) % COUNTS_PER_TURN)
