"""Positions between the line and the policy: none that is damaged, none that is older than allowed."""

from collections.abc import Mapping, Sequence

from svm_robot.drivers.bus.budget import Budget
from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.bus.counters import Counters
from svm_robot.drivers.bus.exchange import Exchange
from svm_robot.drivers.bus.family import Family
from svm_robot.drivers.bus.jumps import Jumps, agree

ROUNDS = 3
"""So often a position that jumped is asked for again, inside the deadline of the group read."""


class Positions:
    """Confirms what jumped, and lets the last good position stand in for a lost one while that is young."""

    def __init__(
        self,
        family: Family,
        register: tuple[int, int],
        config: BusConfig,
        budget: Budget,
        counters: Mapping[int, Counters],
    ) -> None:
        """``register``: address and size of the present position."""
        self.register, self.config, self.budget, self.counters = register, config, budget, counters
        self.decode = family.effort.decode["position"]
        self.held: tuple[int, ...] = ()
        """Motors whose position in the newest group read is the last good one."""
        self._jumps = Jumps()
        self._good: dict[int, tuple[int, float]] = {}
        """Motor id -> its last good position, as the word that it sent, and when [s]."""

    def confirm(self, values: dict[int, int], exchange: Exchange) -> None:
        """Ask again where a position jumped; what is not confirmed is taken out of ``values`` (motor id -> word)."""
        now_s, decode, reply_s = exchange.clock.now_s, self.decode, self.config.reply_timeout_s
        odd = self._jumps.odd({motor_id: decode(value) for motor_id, value in values.items()}, now_s())
        suspects = {motor_id: values.pop(motor_id) for motor_id in odd}
        for _ in range(ROUNDS):
            left_s = self.budget.ends_s - now_s()
            if not suspects or left_s <= 0:
                break
            for motor_id, reply in exchange.ask_all(list(suspects), *self.register, min(reply_s, left_s)).items():
                second = int.from_bytes(reply.data, "little")
                if agree(decode(suspects[motor_id]), decode(second)):
                    values[motor_id] = second
                    del suspects[motor_id]
                else:
                    self.counters[motor_id].odd += 1
                    suspects[motor_id] = second
        self._jumps.note({motor_id: decode(value) for motor_id, value in values.items()}, now_s())

    def hold(self, motor_ids: Sequence[int], values: dict[int, int], exchange: Exchange) -> None:
        """Remember what is good; put the last good position where one is missing, losses are few and it is young."""
        now, good = exchange.clock.now_s(), self._good
        for motor_id, value in values.items():
            good[motor_id] = value, now
        self.held = ()
        if len(values) == len(motor_ids):
            return
        for motor_id in motor_ids:
            if motor_id in values or motor_id not in good:
                continue
            value, read_s = good[motor_id]
            few = exchange.streaks.get(motor_id, 0) < self.config.max_losses
            if few and now - read_s <= self.config.max_joint_age_s:
                values[motor_id] = value
                self.counters[motor_id].held += 1
                self.held += (motor_id,)

    def forget(self, motor_id: int) -> None:
        """A write has moved its zero, perhaps: its last position stands in for nothing."""
        self._good.pop(motor_id, None)
