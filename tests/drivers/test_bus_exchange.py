"""One exchange after the other, in (sent, reply) pairs: what is taken, what is counted, how long it lasts."""

from collections.abc import Callable, Sequence

import pytest
from bus_toys import ScriptedLine, Step, ToyClock

from svm_robot.drivers.bus.budget import Budget
from svm_robot.drivers.bus.counters import Counters
from svm_robot.drivers.bus.exchange import OWED_S, Exchange
from svm_robot.drivers.bus.line import LineGone
from svm_robot.drivers.bus.protocol0 import Protocol0

REPLY_S, DEADLINE_S = 0.02, 0.05
ASK_BOTH = "ff ff fe 06 82 38 02 01 02 3c"
"""Sync read of two bytes at 56 from 1 and 2."""
ASK_1, ASK_2 = "ff ff fe 05 82 38 02 01 3f", "ff ff fe 05 82 38 02 02 3e"
ASK_2_TAGGED = "ff ff fe 05 82 38 03 02 3d"
ASK_BOTH_TAGGED = "ff ff fe 06 82 38 03 01 02 3b"
ONE, TWO = "ff ff 01 04 00 0a 08 e8", "ff ff 02 04 00 14 08 dd"
TWO_TAGGED = "ff ff 02 05 00 14 08 00 dc"
ONE_TAGGED = "ff ff 01 05 00 0a 08 00 e7"
VALUES = {1: 0x080A, 2: 0x0814}

Pairs = Sequence[tuple[str, Sequence[Step]]]


class Bench:
    """An exchange with motors 1 and 2 on a scripted line."""

    def __init__(self, pairs: Pairs) -> None:
        self.clock = ToyClock()
        self.line = ScriptedLine(self.clock, pairs)
        self.counters = {number: Counters() for number in range(3)}
        self.exchange = Exchange(self.line, Protocol0(), self.clock, self.counters, byte_s=0.0)
        self.budget = Budget(2, DEADLINE_S)

    def read(self) -> dict[int, int]:
        found = self.exchange.group_read([1, 2], 56, 2, self.budget, REPLY_S)
        return {motor_id: int.from_bytes(reply.data, "little") for motor_id, reply in found.items()}

    def told(self) -> dict[int, str]:
        return {number: str(counters) for number, counters in self.counters.items() if counters}


@pytest.fixture
def bench() -> Callable[[Pairs], Bench]:
    return Bench


def test_both_answer(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([(ASK_BOTH, [f"{ONE} {TWO}"])])
    assert made.read() == VALUES
    assert made.told() == {}
    assert made.clock.now == 100.0
    made.line.check()


def test_replies_in_single_bytes(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([(ASK_BOTH, f"{ONE} {TWO}".split())])
    assert made.read() == VALUES
    made.line.check()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("ff ff 02 04 00 14 08 88", {2: "crc 1 retries 1"}),  # the check sum
        ("ff ff 02 04 00 14 0a dd", {2: "crc 1 retries 1"}),  # the data
        ("ff ff 02 04 00 14", {2: "short 1 retries 1"}),
        ("00 fe 17", {0: "junk 1", 2: "lost 1 retries 1"}),
    ],
)
def test_what_is_damaged_is_asked_for_again_and_only_that(
    bench: Callable[[Pairs], Bench], damage: str, told: dict[int, str]
) -> None:
    again = (ASK_2_TAGGED, [TWO_TAGGED]) if "lost" in told[2] else (ASK_2, [TWO])
    made = bench([(ASK_BOTH, [f"{ONE} {damage}"]), again])
    assert made.read() == VALUES
    assert made.told() == told
    assert made.clock.now == pytest.approx(100.0 if "crc" in told[2] else 100.0 + REPLY_S)
    made.line.check()


def test_junk_before_a_reply_costs_nothing(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([(ASK_BOTH, [f"{ONE} 00 ff 17 2a 01 {TWO}"])])
    assert made.read() == VALUES
    assert made.told() == {0: "junk 1"}
    assert made.clock.now == 100.0


def test_a_hole_is_noticed_as_soon_as_the_last_has_spoken(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([(ASK_BOTH, [TWO]), ("ff ff fe 05 82 38 03 01 3e", [ONE_TAGGED])])
    assert made.read() == VALUES
    assert made.told() == {1: "lost 1 retries 1"}
    assert made.clock.now == 100.0


def test_a_late_reply_is_never_the_answer_to_the_next_request(bench: Callable[[Pairs], Bench]) -> None:
    """The old value 0x0999 has the form of the answer that is awaited, but not its length."""
    late = "ff ff 02 04 00 99 09 57"
    made = bench([(ASK_BOTH, [ONE]), (ASK_2_TAGGED, [0.001, late, 0.001, TWO_TAGGED])])
    assert made.read() == VALUES
    assert made.told() == {2: "lost 1 late 1 retries 1"}
    made.line.check()


def test_a_reply_that_is_late_by_a_tick_is_dropped(bench: Callable[[Pairs], Bench]) -> None:
    late = "ff ff 02 04 00 99 09 57"
    silent = [(ASK_BOTH, [ONE]), (ASK_2_TAGGED, []), ("ff ff fe 05 82 38 04 02 3c", [])]
    made = bench([*silent, ("ff ff fe 06 82 38 05 01 02 39", ["ff ff 01 07 00 0a 08 00 00 00 e5", late])])
    assert made.read() == {1: VALUES[1]}
    assert made.clock.now == pytest.approx(100.0 + DEADLINE_S)
    made.budget.retries = 0
    assert made.read() == {1: VALUES[1]}
    assert made.counters[2].late == 1


def test_what_lies_in_the_input_before_a_request_is_not_its_answer(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([(ASK_BOTH, [f"{ONE} {TWO}"])])
    made.line.coming = ["ff ff 01 04 00 99 09 58", "03 04"]
    assert made.read() == VALUES
    assert made.told() == {0: "junk 1", 1: "junk 1"}


def test_a_debt_is_forgotten_after_a_while(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([(ASK_BOTH, [ONE]), (ASK_2_TAGGED, [TWO_TAGGED]), (ASK_BOTH_TAGGED, []), (ASK_BOTH, [f"{ONE} {TWO}"])])
    assert made.read() == VALUES
    made.exchange.ask_all([1, 2], 56, 2, REPLY_S)
    made.clock.now += OWED_S + 0.01
    assert made.read() == VALUES
    made.line.check()


def test_the_silent_one_is_asked_last(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([("ff ff fe 06 82 38 02 02 01 3c", [f"{TWO} {ONE}"])])
    made.exchange.note_losses([1, 2], [2])
    assert made.exchange.streaks == {1: 1}
    assert made.read() == VALUES
    made.exchange.note_losses([1, 2], [1, 2])
    assert made.exchange.streaks == {}


def test_the_budget_of_repeats_is_shared_by_the_reads_of_one_tick(bench: Callable[[Pairs], Bench]) -> None:
    bad = "ff ff 02 04 00 14 08 88"
    spoiled: Pairs = [(ASK_BOTH, [f"{ONE} {bad}"])]
    made = bench([*spoiled, (ASK_2, [bad]), (ASK_2, [bad]), *spoiled])
    assert made.read() == {1: VALUES[1]}
    assert made.read() == {1: VALUES[1]}
    made.line.check()
    assert made.counters[2].retries == 2
    made.budget.tick_over()
    made.line.pairs = [*spoiled, (ASK_2, [TWO])]
    assert made.read() == VALUES
    made.clock.now += DEADLINE_S
    made.line.pairs = [*spoiled, (ASK_2, [bad]), (ASK_2, [TWO])]
    assert made.read() == VALUES


def test_no_repeats_means_none() -> None:
    budget = Budget(0, DEADLINE_S)
    budget.start(0.0)
    assert not budget.take(0.0)


def test_a_single_read_and_its_repeats(bench: Callable[[Pairs], Bench]) -> None:
    ask, tagged = "ff ff 01 04 02 38 02 be", "ff ff 01 04 02 38 03 bd"
    made = bench([(ask, []), (tagged, [ONE_TAGGED])])
    reply = made.exchange.read(1, 56, 2, 3, REPLY_S)
    assert reply is not None and reply.data == b"\x0a\x08"
    assert made.told() == {1: "lost 1 retries 1"}
    made.line.check()


def test_nobody_there(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([("ff ff 01 04 02 38 02 be", []), ("ff ff 01 04 02 38 03 bd", [])])
    assert made.exchange.read(1, 56, 2, 2, REPLY_S) is None
    assert made.clock.now == pytest.approx(100.0 + REPLY_S + 2 * REPLY_S)


def test_an_acknowledgement_that_is_still_owed_is_fenced_off(bench: Callable[[Pairs], Bench]) -> None:
    """The late one of the first write must not be taken for that of the second, which was lost."""
    write_on, write_off, acknowledged = "ff ff 01 04 03 28 01 ce", "ff ff 01 04 03 28 00 cf", "ff ff 01 02 00 fc"
    fence, fenced = "ff ff 01 04 02 28 01 cf", "ff ff 01 03 00 01 fa"
    made = bench([(write_on, []), (fence, [f"{acknowledged} {fenced}"]), (write_off, [])])
    assert made.exchange.write(1, 40, b"\x01", 1, REPLY_S) is None
    assert made.exchange.write(1, 40, b"\x00", 1, REPLY_S) is None
    made.line.check()
    assert made.counters[1].late == 1


def test_a_reply_to_a_request_that_ctrl_c_cut_short_is_not_taken_later(bench: Callable[[Pairs], Bench]) -> None:
    made = bench(
        [("ff ff 01 04 02 38 02 be", []), ("ff ff 01 04 02 38 03 bd", ["ff ff 01 04 00 99 09 58", ONE_TAGGED])]
    )
    usual = made.line.read

    def interrupted(patience_s: float) -> bytes:
        if not patience_s:
            return b""
        made.line.read = usual  # type: ignore[method-assign]
        raise KeyboardInterrupt

    made.line.read = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        made.exchange.read(1, 56, 2, 1, REPLY_S)
    reply = made.exchange.read(1, 56, 2, 1, REPLY_S)
    assert reply is not None and reply.data == b"\x0a\x08"
    assert made.counters[1].late == 1


def test_a_group_write_is_one_packet_and_waits_for_nobody(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([("ff ff fe 0a 83 2a 02 01 e8 03 02 dc 05 79", [])])
    made.exchange.group_write(42, {1: b"\xe8\x03", 2: b"\xdc\x05"})
    assert made.clock.now == 100.0
    made.line.check()


def test_a_line_that_is_gone(bench: Callable[[Pairs], Bench]) -> None:
    made = bench([])
    made.line.gone = True
    with pytest.raises(LineGone):
        made.read()


def test_a_babbling_line_ends(bench: Callable[[Pairs], Bench]) -> None:
    again, last = "ff ff fe 06 82 38 03 01 02 3b", "ff ff fe 06 82 38 04 01 02 3a"
    made = bench([(ASK_BOTH, [0.001, "07" * 100] * 400), (again, []), (last, [])])
    assert made.read() == {}
    assert made.clock.now <= 100.0 + DEADLINE_S + 0.001
