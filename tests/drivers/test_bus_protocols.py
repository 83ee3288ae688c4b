"""The host's side of both serial protocols, byte by byte, and how it finds its way through damage."""

import pytest

from svm_robot.drivers.bus.packets import Codec, Damage, Status
from svm_robot.drivers.bus.protocol0 import Protocol0
from svm_robot.drivers.bus.protocol2 import Protocol2, crc16, stuffed, unstuffed
from svm_robot.drivers.virtual import dynamixel_protocol, protocol
from svm_robot.drivers.virtual.dynamixel_protocol import Parser2
from svm_robot.drivers.virtual.protocol import Packet, Parser

CODECS: dict[str, Codec] = {"feetech": Protocol0(), "dynamixel": Protocol2()}
ENCODE = {"feetech": protocol.encode, "dynamixel": dynamixel_protocol.encode}


@pytest.fixture(params=list(CODECS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def reply(name: str, motor_id: int, data: bytes, error: int = 0) -> bytes:
    return ENCODE[name](Packet(motor_id, error, data))


def take(name: str, data: bytes, last: bool = True) -> list[Status | Damage]:
    return CODECS[name].take(bytearray(data), 8, last)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Protocol0().read(1, 56, 2), "ff ff 01 04 02 38 02 be"),
        (Protocol0().write(2, 40, b"\x01"), "ff ff 02 04 03 28 01 cd"),
        (Protocol0().group_read([2, 1], 33, 1), "ff ff fe 06 82 21 01 02 01 54"),
        (Protocol0().group_write(42, {1: b"\xe8\x03", 2: b"\xdc\x05"}), "ff ff fe 0a 83 2a 02 01 e8 03 02 dc 05 79"),
        # the three below are the examples of Robotis' manual
        (Protocol2().read(1, 132, 4), "ff ff fd 00 01 07 00 02 84 00 04 00 1d 15"),
        (Protocol2().write(1, 116, b"\x00\x02\x00\x00"), "ff ff fd 00 01 09 00 03 74 00 00 02 00 00 ca 89"),
        (Protocol2().group_read([1, 2], 132, 4), "ff ff fd 00 fe 09 00 82 84 00 04 00 01 02 ce fa"),
        (Protocol2().reboot(1), "ff ff fd 00 01 03 00 08 2f 4e"),
    ],
)
def test_requests(made: bytes, expected: str) -> None:
    assert made.hex(" ") == expected


def test_the_emulators_read_what_the_host_writes() -> None:
    for codec, parser in ((Protocol0(), Parser()), (Protocol2(), Parser2())):
        sent = codec.read(3, 56, 2) + codec.write(4, 40, b"\x01") + codec.group_read([1, 2], 56, 2)
        assert [(p.servo_id, p.code) for p in parser.feed(sent)] == [(3, 2), (4, 3), (0xFE, 0x82)]
        assert not parser.pending


def test_data_that_looks_like_a_header_is_stuffed() -> None:
    hostile = b"\xff\xff\xfd\x00\xff\xff\xfd\xfd"
    assert b"\xff\xff\xfd\x00" not in stuffed(hostile)
    assert unstuffed(stuffed(hostile)) == hostile
    sent = Protocol2().write(1, 116, hostile)
    assert Parser2().feed(sent)[0].parameters[2:] == hostile
    assert take("dynamixel", reply("dynamixel", 1, hostile)) == [Status(1, 0, hostile)]


def test_the_crc_is_robotis() -> None:
    assert crc16(bytes.fromhex("fffffd000103 0001")) == 0x4E19


def test_whole_replies(name: str) -> None:
    sent = reply(name, 1, b"\x01\x02") + reply(name, 2, b"", error=0x20)
    assert take(name, sent) == [Status(1, 0, b"\x01\x02"), Status(2, 0x20, b"")]


def test_a_reply_in_pieces(name: str) -> None:
    whole = reply(name, 1, b"\x01\x02") + reply(name, 2, b"\x03\x04")
    buffer, found = bytearray(), []
    for byte in whole:
        buffer.append(byte)
        found += CODECS[name].take(buffer, 8)
    assert found == [Status(1, 0, b"\x01\x02"), Status(2, 0, b"\x03\x04")]
    assert not buffer


def test_no_single_damaged_byte_is_ever_accepted(name: str) -> None:
    good, after = reply(name, 3, b"\x12\x34"), reply(name, 4, b"\x56\x78")
    for place in range(len(good)):
        for bits in range(1, 256):
            damaged = bytearray(good)
            damaged[place] ^= bits
            found = take(name, bytes(damaged) + after)
            # a length byte one too high makes Feetech's sum fit the next header: such a reply is longer than asked for
            values = [event for event in found if isinstance(event, Status) and len(event.data) == 2]
            assert values in ([Status(4, 0, b"\x56\x78")], []), (place, bits)
            assert any(isinstance(event, Damage) for event in found)


def test_the_reply_after_damage_is_found(name: str) -> None:
    good, after = reply(name, 3, b"\x12\x34"), Status(4, 0, b"\x56\x78")
    rest = reply(name, 4, b"\x56\x78")
    corrupt = bytes([*good[:-1], good[-1] ^ 0x55])
    assert take(name, corrupt + rest) == [Damage("crc", 3), after]
    assert take(name, b"\x00\xff\x17" + rest) == [Damage("junk", None), after]
    assert take(name, good[: len(good) - 1] + rest) == [Damage("short", 3), after]
    assert take(name, good[:5] + rest)[-1] == after


def test_what_is_incomplete_waits_and_then_is_damage(name: str) -> None:
    good = reply(name, 3, b"\x12\x34")
    buffer = bytearray(good[:-1])
    assert CODECS[name].take(buffer, 8) == []
    assert bytes(buffer) == good[:-1]
    assert CODECS[name].take(buffer, 8, last=True) == [Damage("short", 3)]
    assert not buffer


def test_a_length_that_nobody_asked_for_is_not_waited_for(name: str) -> None:
    good = bytearray(reply(name, 3, b"\x12\x34"))
    good[3 if name == "feetech" else 5] = 0xF0
    found = CODECS[name].take(good + bytearray(reply(name, 4, b"\x56\x78")), 8)
    assert found[-1] == Status(4, 0, b"\x56\x78")


def test_a_half_header_at_the_end_is_kept(name: str) -> None:
    buffer = bytearray(b"\x07\x08\xff")
    assert CODECS[name].take(buffer, 8) == [Damage("junk", None)]
    assert buffer == b"\xff"
    assert CODECS[name].take(buffer, 8, last=True) == [Damage("junk", None)]


def test_nothing_is_nothing(name: str) -> None:
    assert take(name, b"") == []
