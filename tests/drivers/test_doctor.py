"""The doctor on arms that are ill in a scripted way: it names arm, joint, port, cause and cure, and moves nothing."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bus_toys
import pytest
import serial
from lerobot.robots.koch_follower import KochFollowerConfig
from lerobot.robots.so_follower import SO101FollowerConfig
from lerobot.teleoperators.so_leader import SO101LeaderConfig
from timed_rig import TimedRobot

from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.doctor.check_ports import PortLook
from svm_robot.drivers.doctor.examine import Tools, examine, is_fine
from svm_robot.drivers.doctor.finding import Finding, Level
from svm_robot.drivers.rig import RigConfig
from svm_robot.drivers.usb.ports import SerialPort
from svm_robot.drivers.virtual.arm import HOMING_OFFSETS, calibration
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.servo import HOMING_OFFSET, ID, TORQUE_ENABLE, Register, Servo
from svm_robot.drivers.virtual.wire import Wire
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.scripts.main import main

READ, GROUP_READ = 0x02, 0x82
NO_PORTS = PortLook(ports=list)
PATIENT = bus_toys.PATIENT


def quick(**more: Any) -> Tools:
    return Tools(**{"look": NO_PORTS, "reads": 30, "seconds": 0.3, "bytes_per_s": 1e5, **more})


@pytest.fixture
def chain() -> Bus:
    return bus_toys.feetech_chain()


@pytest.fixture
def wire(chain: Bus) -> Iterator[Wire]:
    with bus_toys.served(chain) as made:
        yield made


def write_calibration(folder: Path, name: str, shift: int = 0) -> None:
    rows = {motor: {**row, "homing_offset": row["homing_offset"] + shift} for motor, row in calibration().items()}
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(rows))


def rig_on(port: str, folder: Path, name: str = "arm", **more: Any) -> RigConfig:
    robot = SO101FollowerConfig(port=port, id=name, calibration_dir=folder)
    return RigConfig(robot=robot, bus=PATIENT, dataset_root=str(folder), **more)


@pytest.fixture
def rig(wire: Wire, tmp_path: Path) -> RigConfig:
    write_calibration(tmp_path, "arm")
    return rig_on(wire.port, tmp_path)


def sick(found: Sequence[Finding]) -> list[Finding]:
    """Problems, without those of a computer that others keep busy."""
    return [f for f in found if f.level is Level.PROBLEM and not (f.check == "rates" and "missed" in f.values)]


def problems(rig: RigConfig, tools: Tools | None = None) -> list[Finding]:
    found = list(examine(rig, tools or quick()))
    return sick(found)


def only(findings: Sequence[Finding]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def test_a_sound_arm_is_looked_at_all_over_and_nothing_is_written(chain: Bus, rig: RigConfig) -> None:
    found = list(examine(rig, quick()))
    assert not sick(found) and is_fine([f for f in found if f.check != "rates"])
    assert [f.check for f in found if f.joint == "gripper"] == ["vitals", "line"]
    assert {f.check for f in found} == {"software", "disk", "port", "motors", "vitals", "line", "calibration", "rates"}
    line = next(f for f in found if f.check == "line" and f.joint == "elbow_flex")
    assert line.values["reads"] == 30 and 0 < line.values["p50_ms"] <= line.values["p99_ms"]
    vitals = next(f for f in found if f.check == "vitals" and f.joint == "elbow_flex")
    assert (vitals.values["firmware"], vitals.values["voltage_v"], vitals.values["temperature_c"]) == ("3.10", 7.4, 30)
    assert (vitals.arm, vitals.port) == ("robot", rig.robot.port)
    assert set(chain.counts) <= {READ, GROUP_READ}, "only questions"


def test_torque_that_was_left_on_stays_on_and_is_told(chain: Bus, rig: RigConfig) -> None:
    chain.servos[2].set(TORQUE_ENABLE, 1)
    told = [f for f in examine(rig, quick()) if "torque is on" in f.what]
    assert "elbow_flex" in only(told).what and only(told).level is Level.NOTE
    assert chain.servos[2].torque and not chain.servos[1].torque


def test_a_silent_motor_is_named_and_the_others_are_still_examined(chain: Bus, rig: RigConfig) -> None:
    chain.set_faults(WireFaults(dead=(4,)))
    found = list(examine(rig, quick()))
    dead = only(sick(found))
    assert (dead.joint, dead.arm, dead.port) == ("wrist_flex", "robot", rig.robot.port)
    assert "id 4 does not answer" in dead.what and dead.cause.startswith("1. the cable to wrist_flex is loose")
    assert dead.values == {"expected": [1, 2, 3, 4, 5, 6], "found": [1, 2, 3, 5, 6]} and dead.next
    assert {f.joint for f in found if f.check == "vitals"} == {
        "shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_roll", "gripper",
    }  # fmt: skip
    assert not [f for f in found if f.check == "rates"], "an arm with a gap is not timed"


def test_nobody_answers(chain: Bus, rig: RigConfig) -> None:
    chain.set_faults(WireFaults(dead=range(1, 7)))  # type: ignore[arg-type]
    found = problems(rig)
    assert len(found) == 6 and all(f.cause.startswith("1. the arm has no power") for f in found)


def test_a_motor_with_another_id_is_found_under_it(chain: Bus, rig: RigConfig) -> None:
    chain.servos[3].set(ID, 9)
    found = list(examine(rig, quick()))
    assert only(sick(found)).joint == "wrist_flex"
    stranger = only([f for f in found if "nobody expects" in f.what])
    assert "id 9" in stranger.what and "may be wrist_flex" in stranger.what


def test_two_motors_with_one_id(tmp_path: Path) -> None:
    chain = bus_toys.feetech_chain()
    chain.servos = (*chain.servos, Servo(3))
    write_calibration(tmp_path, "arm")
    with bus_toys.served(chain) as wire:
        found = problems(rig_on(wire.port, tmp_path))
    twin = only(found)
    assert twin.joint == "elbow_flex" and "two motors" in twin.what and "lerobot-setup-motors" in twin.next


def test_noise_is_another_baud_rate(chain: Bus, rig: RigConfig) -> None:
    chain.set_faults(WireFaults(noise=True))
    found = problems(rig)
    assert len(found) == 6
    assert all("cannot be understood" in f.what and "1. the motors have another baud rate" in f.cause for f in found)


def test_another_model_is_another_arm(tmp_path: Path) -> None:
    write_calibration(tmp_path, "arm")
    chain = bus_toys.feetech_chain()
    chain.servos[5].set(Register(3, 2), 2825)
    with bus_toys.served(chain) as wire:
        found = problems(rig_on(wire.port, tmp_path))
    assert only(found).joint == "gripper" and "is model 2825, expected 777" in only(found).what


@pytest.mark.parametrize(
    ("bits", "says", "cure"),
    [(1, "reports voltage", "supply"), (32, "reports overload", "relieve"), (4, "reports overheat", "cool"),
     (2, "reports angle sensor", "power off and on")],
)  # fmt: skip
def test_fault_bits_are_told_with_joint_and_cure(bits: int, says: str, cure: str, chain: Bus, rig: RigConfig) -> None:
    chain.set_faults(WireFaults(errors={3: bits}))
    found = only(problems(rig))
    assert found.joint == "elbow_flex" and says in found.what and cure in found.next and found.cause


def test_registers_that_are_out_of_range(chain: Bus, rig: RigConfig) -> None:
    chain.servos[0].set(Register(62, 1), 120)
    chain.servos[5].set(Register(63, 1), 60)
    chain.servos[4].set(Register(1, 1), 9)
    found = [f for f in examine(rig, quick()) if f.level is not Level.OK]
    volts = only([f for f in found if "outside of" in f.what])
    assert (volts.joint, volts.level) == ("shoulder_pan", Level.PROBLEM) and "12 V, outside of 4 to 8 V" in volts.what
    hot = only([f for f in found if "deg C; it switches off" in f.what])
    assert (hot.joint, hot.level) == ("gripper", Level.NOTE)
    assert "wrist_roll 3.9" in only([f for f in found if "different firmware" in f.what]).what
    assert [f for f in found if "where another motor has 12 V" in f.what]


@pytest.mark.parametrize(("every", "level"), [(100, Level.NOTE), (7, Level.PROBLEM)])
def test_damaged_replies_are_counted_by_kind(every: int, level: Level, chain: Bus, rig: RigConfig) -> None:
    chain.set_faults(WireFaults(corrupt=range(150, 4000, every)))
    lines = [f for f in examine(rig, quick(reads=100)) if f.check == "line" and f.values["failed"]]
    assert lines and max(f.level == level for f in lines)
    assert all(f.values["crc"] == f.values["failed"] and "crc" in f.what and f.cause for f in lines)


def test_a_motor_that_dies_while_it_is_read_is_given_up_soon(chain: Bus, rig: RigConfig) -> None:
    rig.bus = BusConfig()
    chain.set_faults(WireFaults(lose=range(200, 100_000, 1)))
    found = problems(rig, quick(reads=5000))
    assert found and all(f.values.get("reads", 0) < 100 for f in found)


def test_the_other_arms_calibration_is_recognised(rig: RigConfig, tmp_path: Path) -> None:
    write_calibration(tmp_path, "mine", shift=5)
    rig.robot.id = "mine"
    found = only(problems(rig))
    assert found.check == "calibration" and "its motors carry 'arm'" in found.cause
    assert "robot.id: arm" in found.next


def test_exchanged_ports_are_recognised_by_what_the_motors_carry(tmp_path: Path) -> None:
    follower, leader = bus_toys.feetech_chain(), bus_toys.feetech_chain()
    for servo, offset in zip(leader.servos, HOMING_OFFSETS, strict=True):
        servo.set(HOMING_OFFSET, offset + 40)
    write_calibration(tmp_path / "robots", "arm")
    write_calibration(tmp_path / "leaders", "lead", shift=40)
    with bus_toys.served(follower) as right, bus_toys.served(leader) as wrong:
        rig = rig_on(wrong.port, tmp_path / "robots")
        rig.teleop = SO101LeaderConfig(port=right.port, id="lead", calibration_dir=tmp_path / "leaders")
        found = problems(rig)
    assert [f.arm for f in found] == ["robot", "teleop"]
    assert "the ports of robot and teleop are exchanged: here is the arm 'lead'" in found[0].what
    assert set(follower.counts) | set(leader.counts) <= {READ, GROUP_READ}


def test_no_calibration_says_what_to_run(rig: RigConfig, tmp_path: Path, wire: Wire) -> None:
    rig.robot.calibration_dir = tmp_path / "empty"
    found = only(problems(rig))
    assert f"lerobot-calibrate --robot.type=so101_follower --robot.port={wire.port} --robot.id=arm" in found.next


def test_one_motor_that_was_replaced(chain: Bus, rig: RigConfig) -> None:
    chain.servos[1].set(HOMING_OFFSET, 7)
    found = only(problems(rig))
    assert found.joint == "shoulder_lift" and "homing_offset 7 in the motor, -212 in the file" in found.what
    assert found.cause.startswith("1. this motor was replaced")


ARM = SerialPort("", "USB Single Serial", "5A46", "1-2", (0x1A86, 0x55D3), ())


def seen(path: str, **more: Any) -> Tools:
    here = SerialPort(path, ARM.name, ARM.serial, ARM.socket, ARM.usb, ())
    usual = {"ports": lambda: [here], "blocked": lambda p, usb: "", "who_holds": lambda p: []}
    return quick(look=PortLook(**{**usual, **more}))


def test_no_permission_is_told_with_the_line_that_mends_it(rig: RigConfig, chain: Bus) -> None:
    line = "no permission on it: sudo usermod -aG dialout ada, then log out and in again"
    found = only(problems(rig, seen(rig.robot.port, blocked=lambda path, usb: line)))
    assert found.check == "port" and "usermod -aG dialout ada" in found.next and found.port == rig.robot.port
    assert not chain.counts, "nothing was asked"


def test_a_port_that_somebody_has(rig: RigConfig, chain: Bus) -> None:
    found = only(problems(rig, seen(rig.robot.port, who_holds=lambda path: ["process 7 (lerobot-record)"])))
    assert "in use by process 7 (lerobot-record)" in found.what and not chain.counts
    with serial.Serial(rig.robot.port, exclusive=True):
        locked = only(problems(rig))
    assert f"{rig.robot.port} is in use by" in locked.what and not chain.counts


def test_a_port_that_is_not_there(tmp_path: Path) -> None:
    rig = rig_on("/dev/ttyACM77", tmp_path)
    found = only(problems(rig, seen("/dev/ttyACM1")))
    assert "no port /dev/ttyACM77" in found.what and "/dev/ttyACM1 (USB Single Serial)" in found.cause
    assert "svm-robot find ports" in found.next
    rig.robot.port = "usb:GONE"
    assert "usb:GONE is plugged in; present: usb:5A46" in only(problems(rig, seen("/dev/ttyACM1"))).what


def test_the_latency_timer(rig: RigConfig, tmp_path: Path) -> None:
    timer = tmp_path / Path(rig.robot.port).name / "latency_timer"
    timer.parent.mkdir()
    timer.write_text("16\n")
    told = only([f for f in examine(rig, seen(rig.robot.port, timers=tmp_path)) if "latency timer" in f.what])
    assert told.level is Level.NOTE and told.values == {"latency_timer_ms": 16} and f"sudo tee {timer}" in told.next
    timer.write_text("1\n")
    assert (
        only([f for f in examine(rig, seen(rig.robot.port, timers=tmp_path)) if "latency timer" in f.what]).level
        == "ok"
    )


@pytest.mark.parametrize(
    ("free_mb", "level"), [(230, Level.PROBLEM), (300, Level.NOTE), (9000, Level.OK), (0, "problem")]
)
def test_room_on_the_disk(free_mb: int, level: str, tmp_path: Path) -> None:
    status = SimpleNamespace(f_bavail=free_mb * 1000, f_frsize=1000)
    rig = rig_on("/dev/ttyACM77", tmp_path)
    found = only([f for f in examine(rig, quick(statvfs=lambda path: status, bytes_per_s=5e5)) if f.check == "disk"])
    assert found.level == level and found.values["free_mb"] == free_mb
    assert found.values["minutes"] == pytest.approx(max(0, free_mb - 200) / 30)


def test_a_folder_that_nothing_can_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svm_robot.drivers.doctor.check_disk.os.access", lambda path, mode: False)
    rig = rig_on("/dev/ttyACM77", tmp_path)
    assert "nothing can be written" in problems(rig)[0].what


def test_a_robot_with_another_bus_is_looked_at_as_far_as_it_goes(
    rig: RigConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clocks import FakeClock

    robot = TimedRobot(FakeClock(), {})  # type: ignore[arg-type]
    monkeypatch.setattr("lerobot.robots.make_robot_from_config", lambda config: robot)
    found = list(examine(rig, quick()))
    assert not sick(found)
    assert "timed are on no bus that can be looked into" in only([f for f in found if f.level == "note"]).what


def test_a_library_that_is_missing(rig: RigConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: object) -> object:
        raise ImportError("No module named 'vendor_sdk'")

    monkeypatch.setattr("lerobot.robots.make_robot_from_config", make)
    found = only(problems(rig))
    assert "vendor_sdk" in found.what and found.cause == "a library is missing"


def test_a_dynamixel_arm(tmp_path: Path) -> None:
    pytest.importorskip("dynamixel_sdk")
    from dataclasses import asdict

    rows = {motor: asdict(row) for motor, row in bus_toys.koch_arm()[1].items()}
    (tmp_path / "koch.json").write_text(json.dumps(rows))
    chain = bus_toys.koch_chain()
    with bus_toys.served(chain) as wire:
        robot = KochFollowerConfig(port=wire.port, id="koch", calibration_dir=tmp_path)
        rig = RigConfig(robot=robot, bus=PATIENT, dataset_root=str(tmp_path))
        assert not problems(rig)
        chain.set_faults(WireFaults(errors={2: 32}))
        found = only(problems(rig))
    assert found.joint == "shoulder_lift" and "reports overload" in found.what
    assert set(chain.counts) <= {READ, GROUP_READ}


RIG = "robot: {{type: so101_follower, port: {port}, id: arm, calibration_dir: {folder}}}\ndataset_root: {folder}\n"


def test_the_verb(rig: RigConfig, chain: Bus, wire: Wire, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text(
        RIG.format(port=wire.port, folder=tmp_path) + "bus: {reply_timeout_s: 0.05, deadline_s: 3}\nrate_hz: 5\n"
    )
    words = ["doctor", str(path), "--reads=20"]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "ok      motors" in told and told.splitlines()[-1].startswith("0 problems") and "nothing was moved" in told
    chain.set_faults(WireFaults(dead=(6,)))
    assert main(words) == 5
    told = capsys.readouterr().out
    assert f"problem motors      robot gripper on {wire.port}: id 6 does not answer\n" in told
    assert "cause: 1. the cable to gripper" in told and "next: look whether the cable to gripper is loose" in told
    assert main([*words, "--json"]) == 5
    printed = json.loads(capsys.readouterr().out)
    assert not printed["fine"]
    row = next(row for row in printed["findings"] if row["level"] == "problem")
    assert (row["arm"], row["joint"], row["port"], row["check"]) == ("robot", "gripper", wire.port, "motors")
    assert main(["doctor", str(path), "--reads=1"]) == 2
    assert "reads is 1; it must be" in capsys.readouterr().err


def test_the_verb_on_a_lockstep_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text("robot: {type: virtual_so101, link: lockstep}\n")
    assert main(["doctor", str(path), f"--dataset_root={tmp_path}"]) == 0
    assert "has no port, motors or cameras" in capsys.readouterr().out
