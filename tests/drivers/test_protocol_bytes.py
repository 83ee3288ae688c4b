"""The wire byte by byte: what a host sends, what the servos answer. A pair that is left over fails."""

import pytest

from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.protocol import ErrorBit, Instruction, Packet, Parser, checksum, encode
from svm_robot.drivers.virtual.servo import Servo
from svm_robot.drivers.virtual.wire_faults import JUNK, WireFaults

Pairs = list[tuple[str, str]]


def make_bus() -> Bus:
    return Bus([Servo(1), Servo(2, homing_offset=-5, limits=(1000, 3000))])


def converse(bus: Bus, pairs: Pairs) -> None:
    """Play a conversation; every request must be used up and answered with exactly these bytes."""
    parser = Parser()
    for sent, expected in pairs:
        packets = parser.feed(bytes.fromhex(sent))
        answer = b"".join(bus.answer(packet) for packet in packets)
        assert answer.hex(" ") == expected, f"to {sent}"
    assert not parser.pending, "bytes left over"


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("ping", [("ff ff 01 02 01 fb", "ff ff 01 02 00 fc")]),
        ("ping of nobody", [("ff ff 09 02 01 f3", "")]),
        ("ping of all", [("ff ff fe 02 01 fe", "ff ff 01 02 00 fc ff ff 02 02 00 fb")]),
        ("model number", [("ff ff 01 04 02 03 02 f3", "ff ff 01 04 00 09 03 ee")]),
        ("firmware", [("ff ff 02 04 02 00 02 f5", "ff ff 02 04 00 03 0a ec")]),
        ("negative offset has bit 11", [("ff ff 02 04 02 1f 02 d6", "ff ff 02 04 00 05 08 ec")]),
        (
            "write then read back",
            [("ff ff 01 04 03 15 10 d2", "ff ff 01 02 00 fc"), ("ff ff 01 04 02 15 01 e2", "ff ff 01 03 00 10 eb")],
        ),
        (
            "write to all is not answered",
            [("ff ff fe 04 03 28 01 d1", ""), ("ff ff 02 04 02 28 01 ce", "ff ff 02 03 00 01 f9")],
        ),
        ("read of all is not answered", [("ff ff fe 04 02 03 02 f6", "")]),
        (
            "reg write waits for action",
            [
                ("ff ff 01 05 04 2a e8 03 e0", "ff ff 01 02 00 fc"),
                ("ff ff 01 04 02 2a 02 cc", "ff ff 01 04 00 00 08 f2"),
                ("ff ff fe 02 05 fa", ""),
                ("ff ff 01 04 02 2a 02 cc", "ff ff 01 04 00 e8 03 0f"),
            ],
        ),
        (
            "sync read in the order asked",
            [("ff ff fe 06 82 21 01 02 01 54", "ff ff 02 03 00 00 fa ff ff 01 03 00 00 fb")],
        ),
        (
            "sync write reaches each",
            [
                ("ff ff fe 0a 83 2a 02 01 e8 03 02 dc 05 79", ""),
                ("ff ff 01 04 02 2a 02 cc", "ff ff 01 04 00 e8 03 0f"),
                ("ff ff 02 04 02 2a 02 cb", "ff ff 02 04 00 dc 05 18"),
            ],
        ),
        (
            "a changed id answers once more as the old one",
            [("ff ff 01 04 03 05 07 eb", "ff ff 01 02 00 fc"), ("ff ff 07 02 01 f5", "ff ff 07 02 00 f6")],
        ),
        (
            "status level 0: only ping and read",
            [("ff ff 01 04 03 08 00 ef", ""), ("ff ff 01 02 01 fb", "ff ff 01 02 00 fc")],
        ),
        ("unknown instruction", [("ff ff 01 02 77 85", "")]),
        ("junk in front", [("00 ff 12 ff ff 01 02 01 fb", "ff ff 01 02 00 fc")]),
        ("a third ff in front", [("ff ff ff 01 02 01 fb", "ff ff 01 02 00 fc")]),
        ("in two halves", [("ff ff 01", ""), ("02 01 fb", "ff ff 01 02 00 fc")]),
        ("half a header at the end", [("00 00 ff", ""), ("ff 01 02 01 fb", "ff ff 01 02 00 fc")]),
        (
            "wrong checksum is ignored, the next one is not",
            [("ff ff 01 02 01 fa ff ff 02 02 01 fa", "ff ff 02 02 00 fb")],
        ),
        ("impossible length", [("ff ff 01 01 01 ff ff 01 02 01 fb", "ff ff 01 02 00 fc")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_conversation(name: str, pairs: Pairs) -> None:
    converse(make_bus(), pairs)


def test_a_left_over_pair_fails() -> None:
    with pytest.raises(AssertionError, match="left over"):
        converse(make_bus(), [("ff ff 01 02", "")])


def test_checksum_is_the_inverted_sum_in_one_byte() -> None:
    assert checksum(bytes([1, 2, 1])) == 0xFB
    assert checksum(bytes([0xFF] * 5)) == (~(0xFF * 5)) & 0xFF


def test_parser_counts_what_it_discards_and_forgets_on_request() -> None:
    parser = Parser()
    parser.feed(b"\x00\x01\x02")
    assert parser.discarded == 3
    parser.feed(b"\xff\xff\x01\xf0")  # promises 240 bytes that never come
    assert parser.pending
    parser.forget()
    assert not parser.pending
    assert parser.discarded == 7
    assert parser.feed(encode(Packet(1, Instruction.PING))) == [Packet(1, Instruction.PING)]


def test_every_packet_survives_the_way_there_and_back() -> None:
    packets = [
        Packet(3, Instruction.WRITE, bytes(range(200))),
        Packet(0xFE, Instruction.ACTION),
        Packet(1, 0, b"\xff\xff"),
    ]
    stream = b"".join(encode(packet) for packet in packets)
    parser = Parser()
    got = [packet for byte in stream for packet in parser.feed(bytes([byte]))]
    assert got == packets
    assert parser.discarded == 0


def ping(bus: Bus, servo_id: int = 1) -> bytes:
    return bus.answer(Packet(servo_id, Instruction.PING))


def test_faults_hit_the_replies_they_name_and_no_other() -> None:
    bus = make_bus()
    good = ping(bus)
    bus.set_faults(WireFaults(corrupt=(1,), lose=(2,), junk=(3,)))
    corrupt, lost, junk, fine = (ping(bus) for _ in range(4))
    assert corrupt != good
    assert Parser().feed(corrupt) == []
    assert lost == b""
    assert junk == JUNK + good
    assert fine == good
    bus.set_faults(WireFaults(corrupt=(1,)))
    assert ping(bus) == corrupt, "replies are counted anew"


def test_dead_servos_are_silent_and_errors_ride_on_every_reply() -> None:
    bus = make_bus()
    bus.set_faults(WireFaults(dead=(2,), errors={1: int(ErrorBit.OVERLOAD)}))
    assert ping(bus, 2) == b""
    assert ping(bus).hex(" ") == "ff ff 01 02 20 dc"
    assert not bus.alive(bus.servos[1])
    bus.set_faults(WireFaults())
    assert ping(bus, 2) != b""
    assert ping(bus).hex(" ") == "ff ff 01 02 00 fc"


@pytest.mark.parametrize("faults", [WireFaults(dead=(9,)), WireFaults(errors={0: 1})])
def test_faults_of_unknown_servos_are_refused(faults: WireFaults) -> None:
    bus = make_bus()
    with pytest.raises(ValueError, match=r"its ids are \[1, 2\]"):
        bus.set_faults(faults)
    assert bus.faults == WireFaults()


def test_instructions_are_counted() -> None:
    bus = make_bus()
    ping(bus)
    ping(bus, 9)
    assert bus.counts == {Instruction.PING: 2}
