"""Watches what motors say of themselves: fault bits in their replies, and torque that is gone."""

from collections.abc import Callable, Mapping

from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.bus.counters import Counters
from svm_robot.drivers.bus.exchange import Exchange
from svm_robot.drivers.bus.family import Family
from svm_robot.drivers.bus.faults import Fault, FaultLedger
from svm_robot.drivers.bus.limp import LimpWatch
from svm_robot.drivers.bus.packets import Status


class Sentry:
    """Fills the ledger. Every method may raise ``LineGone``."""

    def __init__(
        self, family: Family, motor_ids: tuple[int, ...], config: BusConfig, counters: Mapping[int, Counters]
    ) -> None:
        self.family, self.counters, self.reply_s = family, counters, config.reply_timeout_s
        self.ledger = FaultLedger()
        self.limp = LimpWatch(family.effort, motor_ids, config.limp_check_s)

    def note(self, reply: Status, exchange: Exchange) -> None:
        """A reply whose error byte is not 0: a fault bit is counted always, and kept once per joint that is driven."""
        family, motor_id = self.family, reply.motor_id
        bits = reply.error if family.alert is None else reply.error & family.alert
        if not bits:
            return
        self.counters[motor_id if motor_id in self.counters else 0].faults += 1
        if motor_id in self.ledger.faults or motor_id not in self.ledger.driven:
            return
        if family.alert is not None:
            bits = self.bits(motor_id, exchange, tries=1) or 0
        self.ledger.note(Fault(motor_id, family.faults(bits)))

    def bits(self, motor_id: int, exchange: Exchange, tries: int) -> int | None:
        """The fault bits that a motor reports now; None when it does not answer."""
        reply = exchange.read(motor_id, self.family.fault_address, 1, tries, self.reply_s)
        if reply is None:
            return None
        return reply.error if self.family.alert is None else reply.data[0]

    def torque(self, motor_id: int, on: bool) -> None:
        """Its torque was switched."""
        self.limp.forget(motor_id)
        (self.ledger.driven.add if on else self.ledger.driven.discard)(motor_id)

    def watch(self, exchange: Exchange, reach: Callable[[int], tuple[int, int] | None]) -> None:
        """One motor, now and then: does it still hold what it was told to? ``reach``: see ``LimpWatch.judge``."""
        motor_id = self.limp.due(exchange.clock.now_s())
        if motor_id is None or motor_id not in self.ledger.driven or motor_id in self.ledger.faults:
            return
        effort = self.family.effort
        reply = exchange.read(motor_id, effort.address, effort.length, 1, self.reply_s)
        if reply is not None and (reason := self.limp.judge(motor_id, reply.data, reach(motor_id))):
            self.ledger.note(Fault(motor_id, ("limp",), reason))
