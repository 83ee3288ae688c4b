"""LeRobot's motor buses, steadied: everything above the transport is LeRobot's, unchanged."""

from typing import Any

from lerobot.motors import Motor, MotorCalibration
from lerobot.motors.dynamixel import DynamixelMotorsBus
from lerobot.motors.feetech import FeetechMotorsBus
from lerobot.utils.decorators import check_if_not_connected

from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.bus.families import DYNAMIXEL, FEETECH
from svm_robot.drivers.bus.faults import Fault
from svm_robot.drivers.bus.line import LineGone
from svm_robot.drivers.bus.protocol2 import Protocol2
from svm_robot.drivers.bus.roll_call import call_roll, complaint
from svm_robot.drivers.bus.transport import SteadyTransport
from svm_robot.drivers.clock import Clock, MonotonicClock
from svm_robot.errors import DeviceError

REBOOT_S = 2.0
"""A rebooting Dynamixel answers again within this time."""
HALF_TURN = 2047
"""LeRobot's middle of the encoder, and the largest homing offset that fits into a Feetech servo's 11 bits."""


class SteadyBus(SteadyTransport):
    """What both steadied buses share above the transport: who is there, and letting go of every motor that can."""

    model_number_table: dict[str, int]
    _get_motors_list: Any
    _get_motor_id: Any

    def __init__(
        self,
        port: str,
        motors: dict[str, Motor],
        calibration: dict[str, MotorCalibration] | None = None,
        *,
        config: BusConfig | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(port, motors, calibration)  # type: ignore[call-arg]  # of LeRobot's bus, behind this mixin
        self._prepare(config or BusConfig(), clock or MonotonicClock())

    def ping(self, motor: str | int, num_retry: int = 0, raise_on_error: bool = False) -> int | None:
        """The model number, also of a motor that reports a fault; None when it does not answer."""
        motor_id: int = self._get_motor_id(motor)
        value, result, _ = self._read(
            *self.family.model_number, motor_id, num_retry=num_retry, raise_on_error=raise_on_error
        )
        return value if result == self._comm_success else None

    def disable_torque(self, motors: Any = None, num_retry: int = 0) -> None:
        """Every motor is tried, whatever the others answer. Raises ``DeviceError`` with all that failed."""
        failures: list[DeviceError] = []
        for motor in self._get_motors_list(motors):
            try:
                super().disable_torque(motor, num_retry)  # type: ignore[misc]  # of LeRobot's bus, behind this mixin
            except DeviceError as error:
                failures.append(error)
        if failures:
            raise DeviceError("; ".join(dict.fromkeys(map(str, failures)))) from failures[0]

    @check_if_not_connected
    def disconnect(self, disable_torque: bool = True) -> None:
        """Torque off (every motor is tried), then close the port whatever happened."""
        try:
            if disable_torque:
                self.disable_torque(num_retry=5)
        finally:
            self._close_port()

    def clear_fault(self, motor: str) -> None:
        """Torque off and the fault forgotten. Raises ``JointFault`` where the motor still reports it."""
        motor_id: int = self._get_motor_id(motor)
        self.disable_torque(motor)
        try:
            self._recover(motor_id)
            bits = self.sentry.bits(motor_id, self.exchange, self._tries(0))
        except LineGone as error:
            raise self.wording.lost_line(error, (motor_id,)) from error
        if bits is None:
            raise self.wording.silence((motor_id,))
        if bits:
            raise self.wording.fault(Fault(motor_id, self.family.faults(bits)))
        self.sentry.ledger.clear(motor_id)

    def _recover(self, motor_id: int) -> None:
        """What the family needs beside torque off before a fault goes away. May raise ``LineGone``."""

    def _connect(self, handshake: bool = True) -> None:
        """LeRobot's would put its own words over ours."""
        if not self.port_handler.openPort():
            raise DeviceError(f"{self.port} cannot be opened at {self.port_handler.baudrate} baud")
        if handshake:
            try:
                self._handshake()
            except BaseException:
                self._close_port()  # nothing was written: whatever is on this port stays as it is
                raise

    def _handshake(self) -> None:
        """Everybody is there, once, and is the model that the robot's class says. Writes nothing."""
        models = {motor.id: self.model_number_table[motor.model] for motor in self.motors.values()}
        try:
            roll = call_roll(
                self.exchange, self.ids, self.family.model_number, self._tries(0), self.settings.reply_timeout_s
            )
        except LineGone as error:
            raise self.wording.lost_line(error, self.ids) from error
        if wrong := complaint(roll, self.names, models, self.port):
            raise DeviceError(wrong)
        self.sentry.ledger.faults.clear()  # a new start is what clears a fault


class SteadyFeetechBus(SteadyBus, FeetechMotorsBus):
    """For STS and SMS servos (protocol 0)."""

    family = FEETECH

    def _handshake(self) -> None:
        super()._handshake()
        self._assert_same_firmware()

    def _get_half_turn_homings(self, positions: dict[Any, Any]) -> dict[Any, Any]:
        """LeRobot's offset for a joint parked at 4095 does not fit; the one beside it does, and any full turn more."""
        turn = 2 * (HALF_TURN + 1)
        return {motor: min(position % turn - HALF_TURN, HALF_TURN) for motor, position in positions.items()}


class SteadyDynamixelBus(SteadyBus, DynamixelMotorsBus):
    """For the X series (protocol 2.0)."""

    family = DYNAMIXEL

    def _recover(self, motor_id: int) -> None:
        """Only a reboot ends a hardware error."""
        address = self.family.fault_address
        request = Protocol2().reboot(motor_id)
        self.exchange.command(request, motor_id, self._tries(0), self.settings.reply_timeout_s, fence=address)
        ends_s = self.clock.now_s() + REBOOT_S
        while self.sentry.bits(motor_id, self.exchange, tries=1) is None and self.clock.now_s() < ends_s:
            self.clock.sleep_until_s(self.clock.now_s() + self.settings.reply_timeout_s)
