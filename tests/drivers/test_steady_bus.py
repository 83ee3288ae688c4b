"""Our buses on the wire, with things going wrong: cases of the field, for both families of motors."""

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from bus_toys import PATIENT, feetech_arm, feetech_chain, koch_arm, koch_chain, served
from lerobot.motors import Motor

from svm_robot.drivers.bus.steady import SteadyBus, SteadyDynamixelBus, SteadyFeetechBus
from svm_robot.drivers.joints import MOTORS
from svm_robot.drivers.virtual.chain import Chain
from svm_robot.drivers.virtual.wire import Wire
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.errors import DeviceError, JointFault

OVERLOAD = 32
VOLTAGE = 1


@dataclass
class Bench:
    """A connected bus of ours, the wire it is on, and how to make another one."""

    bus: SteadyBus | Any
    wire: Wire
    make: Callable[..., Any]

    def faults(self, **faults: Any) -> None:
        self.wire.bus.set_faults(WireFaults(**faults))

    def positions(self) -> dict[str, int]:
        read: dict[str, int] = self.bus.sync_read("Present_Position", normalize=False)
        return read

    def move(self, **goals: int) -> None:
        self.bus.sync_write("Goal_Position", goals, normalize=False)

    def place(self, number: int, count: int) -> None:
        """Put a joint where it shows ``count``."""
        servo = self.wire.bus.servos[number - 1]
        with self.wire.bus.lock:
            servo.measure(0, 0, 0)
            servo.measure(count - self._shown(number), 0, 0)

    def _shown(self, number: int) -> int:
        address, size = self.bus.positions.register
        word = int.from_bytes(self.wire.bus.servos[number - 1].read(address, size), "little")
        return int(self.bus.positions.decode(word))

    def tick(self) -> set[int]:
        """Read, then send goals, as a control loop does."""
        read = set(self.positions().values())
        self.move(gripper=2000)
        return read

    def counted(self, kind: str) -> dict[int, int]:
        return {number: getattr(c, kind) for number, c in self.bus.counters.items() if getattr(c, kind)}


KINDS: dict[str, tuple[Callable[[], Chain[Any]], Callable[[], Any], Any, str]] = {
    "feetech": (feetech_chain, feetech_arm, SteadyFeetechBus, "scservo_sdk"),
    "dynamixel": (koch_chain, koch_arm, SteadyDynamixelBus, "dynamixel_sdk"),
}


@pytest.fixture(params=list(KINDS))
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    chain, arm, kind, needs = KINDS[request.param]
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    with served(chain()) as wire:
        port = wire.port

        def make(config: Any = PATIENT) -> Any:
            return kind(port, *arm(), config=config)

        bus = make()
        bus.connect()
        bus.sync_read("Present_Position")
        yield Bench(bus, wire, make)
        if bus.is_connected:
            bus.disconnect(disable_torque=False)


def test_one_corrupt_reply_in_300_ticks(bench: Bench) -> None:
    bench.faults(corrupt=(3,))
    seen = []
    for tick in range(300):
        for number in range(1, 7):
            bench.place(number, 2000 + tick)
        seen.append(list(bench.positions().values()))
    assert seen == [[2000 + tick] * 6 for tick in range(300)]
    assert bench.counted("crc") == {3: 1}
    assert bench.counted("retries") == {3: 1}


@pytest.mark.parametrize("kind", ["corrupt", "lose", "truncate", "junk", "late", "flips"])
def test_every_reply_of_a_group_may_be_spoiled(bench: Bench, kind: str) -> None:
    for place in range(1, 7):
        for number in range(1, 7):
            bench.place(number, 1500 + place)
        bench.faults(**{kind: ((place, place),) if kind == "flips" else (place,)}, late_s=0.002)
        assert bench.tick() == {1500 + place}
    bench.faults()
    assert len(bench.positions()) == 6


def test_a_late_reply_is_not_the_position_of_the_next_tick(bench: Bench) -> None:
    for tick in range(12):
        for number in range(1, 7):
            bench.place(number, 2000 + 10 * tick)
        bench.faults(late=(1 + tick % 6,), late_s=0.2)
        assert bench.tick() == {2000 + 10 * tick}
    time.sleep(0.25)
    assert set(bench.positions().values()) == {2110}
    assert sum(bench.counted("late").values()) >= 10


def test_a_position_that_jumps_is_asked_for_again(bench: Bench) -> None:
    """A damaged value that passed the check sum, played by a servo that jumps and comes back."""
    for number in range(1, 7):
        bench.place(number, 2000)
    bench.positions()
    exchange = bench.bus.exchange
    honest = exchange.group_read

    def once_wrong(*request: Any) -> Any:
        exchange.group_read = honest
        found = honest(*request)
        data = found[4].data
        found[4] = found[4]._replace(data=data[:1] + bytes([data[1] ^ 0x08]) + data[2:])
        return found

    exchange.group_read = once_wrong
    assert set(bench.positions().values()) == {2000}
    assert bench.counted("odd") == {4: 1}
    bench.place(4, 3500)  # an honest jump is believed
    assert bench.positions()["wrist_flex"] == 3500


def test_a_motor_that_falls_silent_is_held_and_then_stops_the_arm(bench: Bench) -> None:
    patience = replace(PATIENT, reply_timeout_s=0.05, deadline_s=0.1, max_losses=3)
    bench.bus.disconnect()
    bench.bus = bench.make(patience)
    bench.bus.connect()
    bench.place(4, 2222)
    bench.positions()
    bench.faults(dead=(4,))
    for _ in range(2):
        assert bench.positions()["wrist_flex"] == 2222
        assert bench.bus.held == ("wrist_flex",)
    with pytest.raises(DeviceError, match=r"no answer from wrist_flex \(id 4\) on /dev/pts/\d+"):
        bench.positions()
    assert bench.counted("held") == {4: 2}
    bench.faults()
    assert bench.positions()["wrist_flex"] == 2222
    assert bench.bus.held == ()
    bench.bus.disconnect()


def test_nothing_older_than_the_limit_is_held(bench: Bench) -> None:
    bench.bus.disconnect()
    bench.bus = bench.make(replace(PATIENT, reply_timeout_s=0.05, deadline_s=0.06, max_losses=99, max_joint_age_s=0.2))
    bench.bus.connect()
    bench.positions()
    bench.faults(dead=(2,))
    time.sleep(0.25)
    with pytest.raises(DeviceError, match="shoulder_lift"):
        bench.positions()
    bench.bus.disconnect(disable_torque=False)


def test_a_written_motor_is_not_held(bench: Bench) -> None:
    bench.bus.write("Homing_Offset", "elbow_flex", 5)
    bench.faults(dead=(3,))
    with pytest.raises(DeviceError, match="elbow_flex"):
        bench.positions()


def test_only_positions_are_ever_held(bench: Bench) -> None:
    bench.bus.sync_read("Torque_Enable")
    bench.faults(dead=(3,))
    with pytest.raises(DeviceError, match="elbow_flex"):
        bench.bus.sync_read("Torque_Enable")


def test_settings_are_read_with_more_patience_than_positions(bench: Bench) -> None:
    """A calibration is read in group reads that have no time limit to keep."""
    bench.bus.disconnect()
    bench.bus = bench.make(replace(PATIENT, retries=1))
    bench.bus.connect()
    bench.faults(corrupt=(2, 7, 8))
    assert set(bench.bus.sync_read("Torque_Enable").values()) == {0}
    assert bench.counted("crc") == {2: 3}


def test_another_baud_rate_opens_the_port_again(bench: Bench) -> None:
    bench.bus.set_baudrate(500_000)
    assert bench.bus.get_baudrate() == 500_000
    assert len(bench.positions()) == 6


def test_a_faulted_joint_is_told_once_and_not_moved(bench: Bench) -> None:
    bench.bus.enable_torque()
    bench.move(gripper=2100, elbow_flex=2100)
    bench.faults(errors={6: OVERLOAD})
    bench.place(6, 2345)
    assert bench.positions()["gripper"] == 2345  # its data are good
    before = dict(bench.wire.bus.counts)
    with pytest.raises(JointFault, match=r"gripper \(id 6\) on /dev/pts/\d+: it reports overload") as told:
        bench.move(gripper=2200, elbow_flex=2200)
    assert (told.value.joint, told.value.kinds) == ("gripper", ("overload",))
    for _ in range(20):
        bench.positions()
        bench.move(gripper=2300, elbow_flex=2300)
    assert bench.bus.read("Present_Position", "gripper", normalize=False) == 2345
    register = "Goal_Position"
    assert bench.bus.read(register, "elbow_flex", normalize=False) == 2300
    assert bench.bus.read(register, "gripper", normalize=False) == 2100
    writes = {code: count - before.get(code, 0) for code, count in bench.wire.bus.counts.items() if code == 3}
    assert not any(writes.values()), "no acknowledged write went to anybody"


def test_a_faulted_arm_is_released_and_the_rest_of_it_too(bench: Bench) -> None:
    bench.bus.enable_torque()
    bench.faults(errors={6: OVERLOAD, 2: VOLTAGE})
    bench.positions()
    with pytest.raises(JointFault, match=r"shoulder_lift .* voltage; gripper .* overload"):
        bench.move(gripper=2200)
    with pytest.raises(JointFault, match="gripper"):
        bench.bus.enable_torque("gripper")
    bench.bus.disconnect()
    assert not any(servo.torque for servo in bench.wire.bus.servos)


def test_a_fault_is_cleared_on_request_only(bench: Bench) -> None:
    bench.bus.enable_torque()
    bench.faults(errors={6: OVERLOAD})
    bench.positions()
    with pytest.raises(JointFault):
        bench.move(gripper=2200)
    if bench.bus.family.alert is None:  # a reboot would end it
        with pytest.raises(JointFault, match="gripper"):
            bench.bus.clear_fault("gripper")
    bench.faults()
    bench.positions()
    bench.move(gripper=2200)
    assert bench.bus.read("Goal_Position", "gripper", normalize=False) != 2200
    bench.bus.clear_fault("gripper")
    bench.bus.enable_torque("gripper")
    bench.move(gripper=2200)
    assert bench.bus.read("Goal_Position", "gripper", normalize=False) == 2200


def test_a_reported_fault_does_not_keep_an_arm_from_being_opened(bench: Bench) -> None:
    bench.bus.disconnect()
    bench.faults(errors={6: VOLTAGE})
    bench.bus.connect()
    assert bench.bus.is_calibrated
    bench.bus.configure_motors()
    assert bench.positions()
    assert bench.counted("faults")[6] > 0


def test_torque_that_went_away_is_noticed(bench: Bench) -> None:
    bench.bus.disconnect()
    bench.bus = bench.make(replace(PATIENT, limp_check_s=0.06))
    bench.bus.connect()
    bench.bus.enable_torque()
    bench.move(elbow_flex=2100)
    servo = bench.wire.bus.servos[2]
    with bench.wire.bus.lock:  # a brown-out: it answers again, with its torque off
        servo.power_cycle() if hasattr(servo, "power_cycle") else servo.reboot()
    with pytest.raises(JointFault, match=r"elbow_flex \(id 3\) .* torque is off although") as told:
        for _ in range(200):
            bench.move(elbow_flex=2100)
            time.sleep(0.005)
    assert told.value.kinds == ("limp",)
    bench.bus.disconnect()


def test_a_pulled_cable(bench: Bench) -> None:
    bench.wire.close()
    with pytest.raises(DeviceError, match=r"/dev/pts/\d+ is gone .* shoulder_pan \(id 1\)"):
        bench.positions()
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"^/dev/pts/\d+ is gone$"):
            bench.move(gripper=2000)
    with pytest.raises(DeviceError, match=r"^/dev/pts/\d+ is gone$"):
        bench.bus.disconnect()
    assert not bench.bus.is_connected


def test_one_dead_motor_leaves_no_other_motor_on(bench: Bench) -> None:
    bench.bus.enable_torque()
    bench.faults(dead=(3,))
    with pytest.raises(DeviceError, match="elbow_flex"):
        bench.bus.disconnect()
    assert [servo.torque for servo in bench.wire.bus.servos] == [False, False, True, False, False, False]
    assert not bench.bus.is_connected


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({"dead": (1, 6)}, r"no answer from shoulder_pan \(id 1\), gripper \(id 6\)\. Likely: 1\. the cable to"),
        ({"dead": (4,)}, r"no answer from wrist_flex \(id 4\)\. Likely: 1\. the cable to wrist_flex"),
        ({"dead": (1, 2, 3, 4, 5, 6)}, "Likely: 1. the arm has no power"),
        ({"noise": True}, "cannot be understood. Likely: 1. the motors have another baud rate"),
    ],
)
def test_an_arm_that_is_not_complete_is_refused_and_nothing_is_written(
    bench: Bench, faults: dict[str, Any], says: str
) -> None:
    bench.bus.disconnect()
    bench.faults(**faults)
    bench.wire.bus.counts.clear()
    bus = bench.make(replace(PATIENT, retries=1, reply_timeout_s=0.05))
    with pytest.raises(DeviceError, match=says) as told:
        bus.connect()
    assert bench.wire.port in str(told.value)
    assert not bus.is_connected
    assert set(bench.wire.bus.counts) == {2}, "reads only"


def test_two_motors_with_one_id(bench: Bench) -> None:
    bench.bus.disconnect()
    bench.wire.bus.servos[3].set(_id_register(bench), 3)
    bench.wire.bus.counts.clear()
    bus = bench.make(replace(PATIENT, retries=1, reply_timeout_s=0.05))
    with pytest.raises(DeviceError, match=r"no answer from wrist_flex .* and two motors answer as elbow_flex \(id 3\)"):
        bus.connect()
    assert set(bench.wire.bus.counts) == {2}


def test_another_arm_on_this_port(bench: Bench) -> None:
    bench.bus.disconnect()
    motors = bench.make().motors
    other = "sts3250" if motors["gripper"].model == "sts3215" else "xm430-w350"
    bus = bench.make()
    bus.motors["gripper"] = Motor(6, other, motors["gripper"].norm_mode)
    with pytest.raises(DeviceError, match=r"gripper \(id 6\) is model \d+, not \d+\. Likely: 1\. this port belongs"):
        bus.connect()


def test_a_port_is_ours_alone(bench: Bench) -> None:
    with pytest.raises(DeviceError, match=rf"{bench.wire.port} is in use by "):
        bench.make().connect()
    bench.bus.disconnect()
    other = bench.make()
    other.connect()
    other.disconnect()


def test_the_joints_by_name_and_all_of_them(bench: Bench) -> None:
    assert list(bench.bus.sync_read("Present_Position", ["gripper", "elbow_flex"])) == ["gripper", "elbow_flex"]
    assert list(bench.positions()) == list(MOTORS)
    assert os.path.exists(bench.wire.port)  # noqa: PTH110


def _id_register(bench: Bench) -> Any:
    from svm_robot.drivers.virtual import dynamixel_servo, servo

    return servo.ID if bench.bus.family.alert is None else dynamixel_servo.ID
