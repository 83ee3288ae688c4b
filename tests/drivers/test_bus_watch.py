"""What the bus concludes: limp motors, jumps, faults told once, who holds a port, and words that are signed."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
import serial
from bus_toys import feetech_chain, served

from svm_robot.drivers.bus import port as port_module
from svm_robot.drivers.bus.families import DYNAMIXEL, FEETECH
from svm_robot.drivers.bus.faults import Fault, FaultLedger
from svm_robot.drivers.bus.holders import holders
from svm_robot.drivers.bus.jumps import Jumps, agree
from svm_robot.drivers.bus.limp import CHECKS, FAR, LimpWatch
from svm_robot.drivers.bus.port import close_port, open_port
from svm_robot.drivers.bus.steady import SteadyFeetechBus
from svm_robot.errors import DeviceError

REACH = (0, 4095)
HOLD = """
import fcntl, sys
port = open(sys.argv[1], "rb")
fcntl.flock(port, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("word", "value"),
    [(0x0000, 0), (0x07FF, 2047), (0x8001, -1), (0x8712, -1810), (0x8000, 0), (0xFFFF, -32767), (0x7FFF, 32767)],
)
def test_feetech_words_carry_their_sign_in_the_top_bit(word: int, value: int) -> None:
    assert FEETECH.effort.decode["position"](word) == value


@pytest.mark.parametrize(
    ("word", "what", "value"),
    [
        (0xFFFFFFFF, "position", -1),
        (0, "position", 0),
        (0x80000000, "position", -(1 << 31)),
        (0x7FFFFFFF, "position", (1 << 31) - 1),
        (0xFFF6, "load", -10),
    ],
)
def test_dynamixel_words_are_twos_complement(word: int, what: str, value: int) -> None:
    assert DYNAMIXEL.effort.decode[what](word) == value


def test_a_half_turn_offset_fits_for_every_position_of_the_encoder() -> None:
    bus = SteadyFeetechBus("/dev/null", {})
    for raw in range(-4096, 8192):
        offset = bus._get_half_turn_homings({"joint": raw})["joint"]
        assert -2047 <= offset <= 2047
        assert abs((raw - offset) % 4096 - 2047) <= 1  # 4095 is the one whose exact offset needs a 12th bit
        if raw % 4096 != 4095:
            assert (raw - offset) % 4096 == 2047


def block(family: str, torque: int = 1, goal: int = 2000, position: int = 2000, load: int = 0) -> bytes:
    effort = (FEETECH if family == "feetech" else DYNAMIXEL).effort
    data = bytearray(effort.length)
    data[0] = torque
    for (offset, size), value in ((effort.goal, goal), (effort.position, position), (effort.load, load)):
        data[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(data)


@pytest.mark.parametrize("family", ["feetech", "dynamixel"])
def test_a_limp_motor(family: str) -> None:
    watch = LimpWatch((FEETECH if family == "feetech" else DYNAMIXEL).effort, (1, 2), 1.0)
    assert watch.judge(1, block(family), REACH) is None
    assert "torque is off" in str(watch.judge(1, block(family, torque=0), None))
    idle = block(family, goal=2000 + FAR + 1)
    assert [watch.judge(1, idle, REACH) for _ in range(CHECKS - 1)] == [None] * (CHECKS - 1)
    assert "58 counts from its goal" in str(watch.judge(1, idle, REACH))


def test_a_motor_that_works_or_moves_or_is_there_is_not_limp() -> None:
    watch = LimpWatch(FEETECH.effort, (1,), 1.0)
    for honest in (
        block("feetech", goal=2100, load=300),  # pushes against something
        block("feetech", goal=2100, load=300 | 1 << 10),  # the other way
        block("feetech", goal=2000 + FAR),
    ):
        for _ in range(2 * CHECKS):
            assert watch.judge(1, honest, REACH) is None
    for moment in range(2 * CHECKS):
        assert watch.judge(1, block("feetech", goal=3000, position=2000 + 10 * moment), REACH) is None


def test_only_a_goal_that_it_would_go_to_counts() -> None:
    watch = LimpWatch(FEETECH.effort, (1,), 1.0)
    idle = block("feetech", goal=3000)
    for reach in (None, (1000, 2010)):  # a wheel; a joint at the end of its range
        for _ in range(2 * CHECKS):
            assert watch.judge(1, idle, reach) is None


def test_switching_forgets_what_a_motor_did() -> None:
    watch = LimpWatch(FEETECH.effort, (1,), 1.0)
    idle = block("feetech", goal=3000)
    for _ in range(CHECKS - 1):
        watch.judge(1, idle, REACH)
    watch.forget(1)
    assert watch.judge(1, idle, REACH) is None


def test_each_motor_has_its_turn() -> None:
    watch = LimpWatch(FEETECH.effort, (1, 2, 3), 0.9)
    asked = [watch.due(moment / 10) for moment in range(13)]
    assert [motor for motor in asked if motor is not None] == [2, 3, 1, 2]
    assert LimpWatch(FEETECH.effort, (1,), 0.0).due(1e9) is None
    assert LimpWatch(FEETECH.effort, (), 1.0).due(1e9) is None


def test_jumps() -> None:
    jumps = Jumps()
    assert jumps.odd({1: 2000}, 0.0) == [1], "nothing is known yet"
    jumps.note({1: 2000}, 0.0)
    assert jumps.odd({1: 2100}, 0.1) == []
    assert jumps.odd({1: 2101}, 0.1) == [1]
    jumps.note({1: 2100}, 0.1)
    assert jumps.odd({1: 2300}, 0.2) == [], "a joint that moves goes on moving"
    assert jumps.odd({1: 2000 + 4096}, 0.2) == [1]
    assert jumps.odd({1: 2100}, 0.7) == [1], "a long time ago"
    assert agree(2000, 2060) and not agree(2000, 2061)


def test_a_fault_is_kept_once_and_only_of_a_driven_motor() -> None:
    ledger = FaultLedger()
    ledger.note(Fault(6, ("overload",)))
    assert ledger.faults == {}
    ledger.driven.add(6)
    for _ in range(3):
        ledger.note(Fault(6, ("overload",)))
    assert len(ledger.untold()) == 1
    assert ledger.untold() == []
    ledger.clear(6)
    assert ledger.faults == {}
    ledger.note(Fault(6, ("overload",)))
    ledger.clear(6)
    assert ledger.untold() == []


def test_unknown_fault_bits_have_a_name_too() -> None:
    assert FEETECH.faults(0x28) == ("overcurrent", "overload")
    assert FEETECH.faults(0x40) == ("fault 0x40",)


def test_who_holds_a_port_is_named() -> None:
    with served(feetech_chain()) as wire:
        command = [sys.executable, "-c", HOLD, wire.port]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None and other.stdout.readline() == b"held\n"
            with pytest.raises(DeviceError, match=rf"{wire.port} is in use by process {other.pid} \(.*python"):
                open_port(wire.port, 1_000_000)
            other.communicate(b"")
        port = open_port(wire.port, 1_000_000)
        close_port(port)
        close_port(port)


def test_a_port_that_is_ours_cannot_be_locked_by_others() -> None:
    with served(feetech_chain()) as wire:
        port = open_port(wire.port, 1_000_000)
        with pytest.raises(serial.SerialException):
            serial.Serial(wire.port, exclusive=True)
        close_port(port)
        descriptor = os.open(wire.port, os.O_RDWR | os.O_NOCTTY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)


def test_a_port_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="there is no port /dev/nowhere: is the cable plugged in"):
        open_port("/dev/nowhere", 1_000_000)
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError, match="cannot open"):
        open_port(str(tmp_path / "file"), 1_000_000)
    assert holders("/dev/nowhere") == []


def test_a_port_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: object) -> None:
        raise serial.SerialException(13, "could not open port")

    monkeypatch.setattr(serial, "Serial", refused)
    monkeypatch.setattr(port_module, "no_access", lambda port: f"no permission on {port}: sudo usermod")
    (tmp_path / "ttyACM0").write_text("")
    with pytest.raises(DeviceError, match="ttyACM0: sudo usermod"):
        open_port(str(tmp_path / "ttyACM0"), 1_000_000)


def test_holders_from_a_written_proc(tmp_path: Path) -> None:
    """Who locked it; else who opened it; processes that are gone or belong to others are passed over."""
    port, proc = tmp_path / "ttyACM0", tmp_path / "proc"
    port.write_text("")
    for pid, words in (("41", b"lerobot-record\0--robot.type=x\0"), ("42", b"")):
        (proc / pid / "fd").mkdir(parents=True)
        (proc / pid / "cmdline").write_bytes(words)
        (proc / pid / "fd" / "5").symlink_to(port)
    (proc / "self").mkdir()
    both = ["process 41 (lerobot-record --robot.type=x)", "process 42"]
    assert sorted(holders(str(port), proc)) == both
    file = port.stat()
    name = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    (proc / "locks").write_text(
        f"1: POSIX  ADVISORY  READ 7 00:01:1 0 EOF\n2: FLOCK  ADVISORY  WRITE 41 {name} 0 EOF\n"
    )
    assert holders(str(port), proc) == both[:1]
