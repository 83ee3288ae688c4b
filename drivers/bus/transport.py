"""The four transport methods of LeRobot's motor buses, on a line that glitches."""

from typing import Any

from svm_robot.drivers.bus.budget import Budget
from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.bus.counters import Counters
from svm_robot.drivers.bus.exchange import Exchange
from svm_robot.drivers.bus.families import CRC_REFUSED
from svm_robot.drivers.bus.family import Family
from svm_robot.drivers.bus.line import LineGone, SerialLine
from svm_robot.drivers.bus.packets import Status
from svm_robot.drivers.bus.port import close_port, open_port
from svm_robot.drivers.bus.positions import Positions
from svm_robot.drivers.bus.sentry import Sentry
from svm_robot.drivers.bus.wording import Wording
from svm_robot.drivers.clock import Clock
from svm_robot.errors import DeviceError

NO_REPLY = -1
"""What LeRobot's callers compare with success."""
EVERYWHERE = (-(1 << 31), (1 << 31) - 1)


class SteadyTransport:
    """Mixed in front of one of LeRobot's buses, whose names it uses.

    LeRobot's ``num_retry`` only adds patience where one motor is asked; a group read has the budget of ``BusConfig``.
    """

    family: Family
    port: str
    motors: dict[str, Any]
    ids: list[int]
    models: list[str]
    port_handler: Any
    model_ctrl_table: dict[str, dict[str, tuple[int, int]]]
    calibration: dict[str, Any]
    _comm_success: int

    def _prepare(self, config: BusConfig, clock: Clock) -> None:
        """The end of a constructor: only stores. LeRobot's port is opened and closed by us from now on."""
        self.settings, self.clock = config, clock
        self.names: dict[int, str] = {motor.id: name for name, motor in self.motors.items()}
        self.counters: dict[int, Counters] = {0: Counters(), **{motor_id: Counters() for motor_id in self.ids}}
        """Motor id -> what went wrong with it; 0: what no motor can be blamed for."""
        table = self.model_ctrl_table[self.models[0]] if self.models else {}
        self._torque = table.get("Torque_Enable", (-1, 1))[0]
        self._goal = table.get("Goal_Position", (-1, 0))[0]
        self._aimed: set[int] = set()
        """Motors that were given a goal position since they were connected."""
        self._motion = frozenset(place[0] for name, place in table.items() if name.startswith("Goal_"))
        self._budget = Budget(config.retries, config.deadline_s)
        register = table.get("Present_Position", (-1, 0))
        self.positions = Positions(self.family, register, config, self._budget, self.counters)
        self.sentry = Sentry(self.family, tuple(self.ids), config, self.counters)
        self.wording = Wording(self.port, self.names, self.counters)
        self.exchange: Exchange
        self.port_handler.setupPort = self._open_port
        self.port_handler.closePort = self._close_port

    @property
    def held(self) -> tuple[str, ...]:
        """Joints whose position in the newest group read is the last good one, not a new one."""
        return tuple(self.names[motor_id] for motor_id in self.positions.held)

    def _open_port(self, _: int = 0) -> bool:
        """In place of the vendor's: for ourselves alone, and with an exchange on it. Raises ``DeviceError``."""
        handler = self.port_handler
        self._close_port()
        handler.ser = open_port(handler.port_name, handler.baudrate)
        handler.is_open, self.wording.gone = True, False
        handler.tx_time_per_byte = 10_000 / handler.baudrate
        line = SerialLine(handler.ser)
        self.exchange = Exchange(line, self.family.codec, self.clock, self.counters, 10 / handler.baudrate)
        return True

    def _close_port(self) -> None:
        if self.port_handler.is_open:
            close_port(self.port_handler.ser)
        self.port_handler.is_open = False

    def _sync_read(
        self,
        addr: int,
        length: int,
        motor_ids: list[int],
        *,
        num_retry: int = 0,
        raise_on_error: bool = True,
        err_msg: str = "",
    ) -> tuple[dict[int, int], int]:
        """Motor id -> unsigned word. A position that is lost may be the last good one: see ``held``.

        Raises ``DeviceError`` naming joint and port.
        """
        is_position = (addr, length) == self.positions.register
        try:
            found = self.exchange.group_read(motor_ids, addr, length, self._budget, self.settings.reply_timeout_s)
            if not is_position:
                found |= self._patiently([i for i in motor_ids if i not in found], addr, length)
            for reply in found.values():
                if reply.error:
                    self.sentry.note(reply, self.exchange)
            values = {motor_id: int.from_bytes(reply.data, "little") for motor_id, reply in found.items()}
            if is_position:
                self.positions.confirm(values, self.exchange)
        except LineGone as error:
            raise self.wording.lost_line(error, motor_ids) from error
        self.exchange.note_losses(motor_ids, values)
        if is_position:
            self.positions.hold(motor_ids, values, self.exchange)
        missing = [motor_id for motor_id in motor_ids if motor_id not in values]
        if missing and raise_on_error:
            raise self.wording.silence(missing)
        result = NO_REPLY if missing else self._comm_success
        return {motor_id: values.get(motor_id, 0) for motor_id in motor_ids}, result

    def _read(
        self,
        address: int,
        length: int,
        motor_id: int,
        *,
        num_retry: int = 0,
        raise_on_error: bool = True,
        err_msg: str = "",
    ) -> tuple[int, int, int]:
        """(unsigned word, LeRobot's result, 0): a fault bit does not spoil the data, so it is no error here."""
        try:
            reply = self.exchange.read(motor_id, address, length, self._tries(num_retry), self.settings.reply_timeout_s)
            if reply is not None and reply.error:
                self.sentry.note(reply, self.exchange)
        except LineGone as error:
            raise self.wording.lost_line(error, (motor_id,)) from error
        if reply is None:
            if raise_on_error:
                raise self.wording.silence((motor_id,))
            return 0, NO_REPLY, 0
        return int.from_bytes(reply.data, "little"), self._comm_success, 0

    def _write(
        self,
        addr: int,
        length: int,
        motor_id: int,
        value: int,
        *,
        num_retry: int = 0,
        raise_on_error: bool = True,
        err_msg: str = "",
    ) -> tuple[int, int]:
        """Acknowledged. Raises ``JointFault`` for what would move a faulted joint, ``DeviceError`` for a refusal."""
        data, faults = word(value, length), self.sentry.ledger.faults
        switches_on = addr == self._torque and value != 0
        if motor_id in faults and (switches_on or addr in self._motion):
            raise self.wording.fault(faults[motor_id])
        if switches_on:
            self.sentry.torque(motor_id, on=True)  # before the answer: it may obey although its answer is lost
        self.positions.forget(motor_id)
        try:
            reply = self._acknowledged(addr, motor_id, data, self._tries(num_retry))
        except LineGone as error:
            raise self.wording.lost_line(error, (motor_id,)) from error
        if reply is None:
            if raise_on_error:
                raise self.wording.silence((motor_id,))
            return NO_REPLY, 0
        if addr == self._torque and not switches_on:
            self.sentry.torque(motor_id, on=False)
        refusal = self.family.refusals.get(reply.error & ~(self.family.alert or 0))
        if refusal and raise_on_error:
            self._tell_faults()
            who = self.wording.who((motor_id,))
            raise DeviceError(f"{who} refuses to set register {addr} to {value}: {refusal}")
        return self._comm_success, 0

    def _sync_write(
        self,
        addr: int,
        length: int,
        ids_values: dict[int, int],
        num_retry: int = 0,
        raise_on_error: bool = True,
        err_msg: str = "",
    ) -> int:
        """Not acknowledged. Goals leave faulted joints out; then a fault that is new is raised, once."""
        rows = {motor_id: word(value, length) for motor_id, value in ids_values.items()}
        moves, faults = addr in self._motion, self.sentry.ledger.faults
        if moves and faults:
            rows = {motor_id: data for motor_id, data in rows.items() if motor_id not in faults}
        if addr == self._torque:
            for motor_id, value in ids_values.items():
                self.sentry.torque(motor_id, on=value != 0)
        try:
            if rows:
                self.exchange.group_write(addr, rows)
            if addr == self._goal:
                self._aimed.update(rows)
            if moves:
                self.sentry.watch(self.exchange, self._reach)
        except LineGone as error:
            raise self.wording.lost_line(error, ids_values) from error
        if moves:
            self._budget.tick_over()
            self._tell_faults()
        return self._comm_success

    def _patiently(self, motor_ids: list[int], addr: int, length: int) -> dict[int, Status]:
        """One by one, for what no control loop waits for: settings, calibration."""
        tries, reply_s = self._tries(0), self.settings.reply_timeout_s
        replies = {i: self.exchange.read(i, addr, length, tries, reply_s) for i in motor_ids}
        return {motor_id: reply for motor_id, reply in replies.items() if reply is not None}

    def _acknowledged(self, addr: int, motor_id: int, data: bytes, tries: int) -> Status | None:
        """A motor that says the request reached it damaged is asked again."""
        reply = None
        for _ in range(tries):
            reply = self.exchange.write(motor_id, addr, data, tries, self.settings.reply_timeout_s)
            if reply is not None and reply.error:
                self.sentry.note(reply, self.exchange)
            if reply is None or self.family.alert is None or reply.error & ~self.family.alert != CRC_REFUSED:
                break
        return reply

    def _reach(self, motor_id: int) -> tuple[int, int] | None:
        """Between which positions a motor goes for its goal; None where it was given none."""
        ends = self.calibration.get(self.names[motor_id]) if self.family.keeps_limits else None
        if motor_id not in self._aimed:
            return None
        return (ends.range_min, ends.range_max) if ends is not None else EVERYWHERE

    def _tell_faults(self) -> None:
        if untold := self.sentry.ledger.untold():
            raise self.wording.fault(*untold)

    def _tries(self, num_retry: int) -> int:
        return 1 + max(num_retry, self.settings.retries)


def word(value: int, length: int) -> bytes:
    """Raises ``ValueError`` for a value that does not fit into so many bytes."""
    try:
        return value.to_bytes(length, "little")
    except OverflowError:
        raise ValueError(f"{value} does not fit into {length} bytes (0 to {(1 << 8 * length) - 1})") from None
