"""The register file of one Dynamixel X servo, byte for byte. Pure: no port, no clock, no physics.

Words are little-endian, signed ones two's complement. Positions are counts, 4096 to one turn; the servo shows
``Present_Position = encoder + Homing_Offset``, over many turns in the extended modes.

Not modelled: velocity, current and PWM modes, profiles, indirect addresses, the drive mode's reverse direction.
"""

from dataclasses import dataclass

COUNTS_PER_TURN = 4096
XL430, XL330 = 1060, 1200
"""Model numbers of XL430-W250 and XL330-M288."""
ALERT = 0x80
"""In the error byte: Hardware_Error_Status is not 0."""
DATA_LIMIT, ACCESS = 6, 7
"""Error numbers: a value outside its limits; a register that cannot be written (now)."""
POSITION_MODE = 3


@dataclass(frozen=True)
class Register:
    """Where a value lies."""

    address: int
    size: int
    signed: bool = False


MODEL = Register(0, 2)
FIRMWARE = Register(6, 1)
ID = Register(7, 1)
OPERATING_MODE = Register(11, 1)
HOMING_OFFSET = Register(20, 4, signed=True)
MAX_POSITION = Register(48, 4)
MIN_POSITION = Register(52, 4)
SHUTDOWN = Register(63, 1)
TORQUE_ENABLE = Register(64, 1)
STATUS_LEVEL = Register(68, 1)
"""0: only ping is answered; 1: ping and reads; 2: everything."""
REGISTERED = Register(69, 1)
HARDWARE_ERROR = Register(70, 1)
GOAL_POSITION = Register(116, 4, signed=True)
PRESENT_LOAD = Register(126, 2, signed=True)
"""A current [mA] on models that measure one."""
PRESENT_VELOCITY = Register(128, 4, signed=True)
PRESENT_POSITION = Register(132, 4, signed=True)

FIRST_RAM = 64
"""Below: EEPROM, which can be written only while torque is off."""
SIZE = 256
READ_ONLY = frozenset([*range(7), 69, 70, *range(120, 147)])
FACTORY = {
    FIRMWARE: 46,
    Register(8, 1): 3,  # Baud_Rate: 1 Mbaud
    Register(9, 1): 250,  # Return_Delay_Time [2 us]
    OPERATING_MODE: POSITION_MODE,
    Register(12, 1): 255,  # Secondary_ID: none
    Register(13, 1): 2,  # Protocol_Type
    Register(24, 4): 10,  # Moving_Threshold
    Register(31, 1): 70,  # Temperature_Limit [deg C]
    Register(32, 2): 70,  # Max_Voltage_Limit [.1 V]
    Register(34, 2): 35,  # Min_Voltage_Limit [.1 V]
    Register(36, 2): 885,  # PWM_Limit
    Register(38, 2): 1750,  # Current_Limit [mA]
    Register(44, 4): 445,  # Velocity_Limit
    MAX_POSITION: COUNTS_PER_TURN - 1,
    SHUTDOWN: 52,  # overheat, electrical shock, overload
    STATUS_LEVEL: 2,
    Register(84, 2): 400,  # Position_P_Gain
    Register(144, 2): 50,  # Present_Input_Voltage [.1 V]
    Register(146, 1): 30,  # Present_Temperature [deg C]
}


class XServo:
    """One servo. Addresses outside the map read as 0."""

    def __init__(
        self, servo_id: int, model: int = XL330, homing_offset: int = 0, limits: tuple[int, int] = (0, 4095)
    ) -> None:
        self.prompt = False
        """True: it is at its goal as soon as it hears of it, for a chain without a world around it."""
        self._staged: tuple[int, bytes] | None = None
        self._memory = bytearray(SIZE)
        self._encoder = COUNTS_PER_TURN // 2
        for register, value in FACTORY.items():
            self.set(register, value)
        self.set(MODEL, model)
        self.set(ID, servo_id)
        self.set(HOMING_OFFSET, homing_offset)
        self.set(MIN_POSITION, limits[0])
        self.set(MAX_POSITION, limits[1])
        self._at_power_on = bytes(self._memory)
        self.measure(self._encoder, 0, 0)
        self.hold()

    def get(self, register: Register) -> int:
        """One value, decoded."""
        data = self._memory[register.address : register.address + register.size]
        return int.from_bytes(data, "little", signed=register.signed)

    def set(self, register: Register, value: int) -> None:
        """One value, also where the host may only read. Raises ``OverflowError`` when it does not fit."""
        data = value.to_bytes(register.size, "little", signed=register.signed)
        self._memory[register.address : register.address + register.size] = data

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
        """Where the motor drives the encoder [counts]."""
        return self.get(GOAL_POSITION) - self.get(HOMING_OFFSET)

    @property
    def error(self) -> int:
        """Hardware_Error_Status. One that is in ``Shutdown`` switches the torque off; only a reboot ends it."""
        return self.get(HARDWARE_ERROR)

    @error.setter
    def error(self, bits: int) -> None:
        self.set(HARDWARE_ERROR, bits)
        if bits & self.get(SHUTDOWN):
            self.set(TORQUE_ENABLE, 0)

    @property
    def alert(self) -> int:
        """The alert bit of its replies."""
        return ALERT if self.error else 0

    def read(self, address: int, length: int) -> bytes:
        """What a READ returns."""
        return bytes(self._memory[address : address + length]).ljust(length, b"\0")

    def write(self, address: int, data: bytes) -> int:
        """What a WRITE does; returns an error number, 0 when it was obeyed. A refused write changes nothing."""
        if any(place in READ_ONLY or place >= SIZE for place in range(address, address + len(data))):
            return ACCESS
        if address < FIRST_RAM and self.torque:
            return ACCESS
        if address == GOAL_POSITION.address and not self._in_reach(int.from_bytes(data, "little", signed=True)):
            return DATA_LIMIT
        was_on = self.torque
        self._memory[address : address + len(data)] = data
        if address < FIRST_RAM:
            self._at_power_on = bytes(self._memory[:FIRST_RAM]) + self._at_power_on[FIRST_RAM:]
        self._show_position()  # the write may have moved the zero
        if self.torque and self.error & self.get(SHUTDOWN):
            self.set(TORQUE_ENABLE, 0)
        elif self.torque and not was_on:
            self.hold()
        if self.torque and self.prompt:
            self.measure(self.target, 0, 0)
        return 0

    def stage(self, address: int, data: bytes) -> None:
        """What a REG_WRITE does: wait for ``act``."""
        self._staged = (address, data)
        self.set(REGISTERED, 1)

    def act(self) -> None:
        """What an ACTION does."""
        staged, self._staged = self._staged, None
        self.set(REGISTERED, 0)
        if staged is not None:
            self.write(*staged)

    def hold(self) -> None:
        """Make the present position the goal."""
        self.set(GOAL_POSITION, self.get(PRESENT_POSITION))

    def measure(self, encoder: int, velocity: int, load: int) -> None:
        """What its sensors say now: encoder [counts, over many turns], velocity [.229 rpm], load [.1 % or mA]."""
        self._encoder = encoder
        self._show_position()
        self.set(PRESENT_VELOCITY, velocity)
        self.set(PRESENT_LOAD, load if self.torque else 0)

    def reboot(self) -> None:
        """RAM back to its defaults, EEPROM kept, hardware error gone, torque off; it remembers no turns."""
        self._memory[:] = self._at_power_on
        self._staged = None
        self.measure(self._encoder % COUNTS_PER_TURN, 0, 0)
        self.hold()

    def _in_reach(self, goal: int) -> bool:
        """In position mode the limits bound the goal; the extended modes know none."""
        within = self.get(MIN_POSITION) <= goal <= self.get(MAX_POSITION)
        return self.get(OPERATING_MODE) != POSITION_MODE or within

    def _show_position(self) -> None:
        self.set(PRESENT_POSITION, self._encoder + self.get(HOMING_OFFSET))
