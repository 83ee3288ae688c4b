"""Motors that get hot or strain: read now and then, judged by their units, told with the joint's name."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bus_toys import ToyClock
from safe_robots import JOINTS, logged_rig

from svm_robot.drivers.safety import MotorLimits, SafetyConfig
from svm_robot.drivers.safety.motor_watch import REGISTERS, UNREAD, MotorWatch, Register, size
from svm_robot.errors import ConfigError, DeviceError, JointFault


class Bus:
    """Answers group reads from a table, and counts them."""

    port = "/dev/ttyARM"

    def __init__(self, **models: str) -> None:
        self.motors = {name: SimpleNamespace(model=model) for name, model in models.items()}
        self.registers: dict[str, dict[str, int]] = {}
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.error: Exception | None = None

    def sync_read(self, name: str, motors: list[str], normalize: bool = True) -> dict[str, int]:
        assert not normalize
        self.asked.append((name, tuple(motors)))
        if self.error:
            raise self.error
        return {motor: self.registers.get(name, {}).get(motor, 0) for motor in motors}


def feetech() -> Bus:
    return Bus(elbow="sts3215", gripper="sts3215")


def watch(bus: Any, clock: ToyClock | None = None, **limits: Any) -> MotorWatch:
    return MotorWatch(bus, MotorLimits(**{"every_ticks": 1, **limits}), clock or ToyClock())


def test_heat_stops_the_arm_at_once_with_joint_port_and_figures() -> None:
    bus = feetech()
    dog = watch(bus)
    bus.registers["Present_Temperature"] = {"elbow": 65, "gripper": 30}
    dog.look()
    bus.registers["Present_Temperature"] = {"elbow": 71, "gripper": 30}
    with pytest.raises(
        JointFault, match=r"elbow on /dev/ttyARM: temperature 71 deg C, safety\.motors allows 65.*cool"
    ) as hot:
        dog.look()
    assert (hot.value.joint, hot.value.kinds) == ("elbow", ("temperature",))


def test_a_short_strain_is_work_and_a_long_one_is_a_fault() -> None:
    bus, clock = feetech(), ToyClock()
    dog = watch(bus, clock, max_temperature=0, max_load=50, max_load_by_joint={"gripper.pos": 20}, overload_s=0.5)
    for load, seconds in ((300, 0.4), (100, 0.1), (-300, 0.4)):
        bus.registers["Present_Load"] = {"gripper": load, "elbow": 400}
        dog.look()
        clock.now += seconds
    dog.look()
    clock.now += 0.2
    with pytest.raises(JointFault, match=r"gripper.*load 30 % of its greatest effort for 0\.6 s.*allows 20.*relieve"):
        dog.look()


def test_quantities_take_turns_and_most_steps_ask_nothing() -> None:
    bus = feetech()
    dog = watch(bus, max_current=800, max_load=60, every_ticks=3)
    for _ in range(12):
        dog.look()
    assert [name for name, _ in bus.asked] == [
        "Present_Temperature",
        "Present_Current",
        "Present_Load",
        "Present_Temperature",
    ]


def test_each_motor_is_asked_for_what_its_model_has() -> None:
    koch = Bus(pan="xl430-w250", elbow="xl330-m288", gripper="xl330-m288")
    dog = watch(koch, max_temperature=70, max_current=300)
    for _ in range(2):
        dog.look()
    assert koch.asked == [
        ("Present_Temperature", ("pan", "elbow", "gripper")),
        ("Present_Current", ("elbow", "gripper")),
    ]
    koch.registers["Present_Current"] = {"elbow": -900}
    dog = watch(koch, max_temperature=0, max_current=300, overload_s=0)
    with pytest.raises(JointFault, match=r"elbow.*current 900 mA"):
        dog.look()


@pytest.mark.parametrize(
    ("word", "register", "expected"),
    [
        (0x8000 | 100, REGISTERS["sts3215"]["current"], 650.0),  # a sign bit that LeRobot leaves in
        (100, REGISTERS["sts3215"]["current"], 650.0),
        (-300, REGISTERS["sts3215"]["load"], 30.0),
        (0xFFFF, Register("Present_Current", 1.0), 1.0),
        (-1, Register("Present_Current", 1.0), 1.0),
        (200, REGISTERS["xm430-w350"]["current"], 538.0),
    ],
)
def test_sizes_of_signed_words(word: int, register: Register, expected: float) -> None:
    assert size(word, register) == pytest.approx(expected)


def test_a_lost_reading_is_nothing_and_many_in_a_row_stop() -> None:
    bus = feetech()
    dog = watch(bus)
    for error in [*[ConnectionError("no answer")] * (UNREAD - 1), None, *[ConnectionError("no answer")] * (UNREAD - 1)]:
        bus.error = error
        dog.look()
    with pytest.raises(DeviceError, match=rf"Present_Temperature could not be read {UNREAD} times in a row: no answer"):
        dog.look()


def test_a_fault_that_the_bus_tells_is_passed_on() -> None:
    bus = feetech()
    bus.error = JointFault("elbow reports overload", "elbow", ("overload",))
    with pytest.raises(JointFault, match="reports overload"):
        watch(bus).look()


def test_where_nothing_is_told_nothing_is_watched_unless_it_was_asked_for() -> None:
    for bus in (None, SimpleNamespace(motors={"a": SimpleNamespace(model="sts3215")}), Bus(a="unheard-of")):
        watch(bus).look()
        for limit in ({"max_temperature": 60.0}, {"max_current": 500.0}, {"max_load": 50.0}):
            with pytest.raises(ConfigError, match="no motor of this robot tells it"):
                watch(bus, **limit)


def test_a_joint_that_is_none_or_tells_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_load_by_joint names wrist; its motors: elbow, gripper"):
        watch(feetech(), max_load_by_joint={"wrist.pos": 20})
    with pytest.raises(ConfigError, match="the load, but elbow tells"):
        watch(Bus(elbow="xl330-m288", pan="xl430-w250"), max_load_by_joint={"elbow.pos": 20})


@pytest.mark.parametrize(
    "option",
    [{"max_temperature": -1}, {"max_current": 0}, {"max_load": np.nan}, {"overload_s": -1}, {"every_ticks": 0},
     {"max_load_by_joint": {"a.pos": 0}}],
)  # fmt: skip
def test_limits_that_are_none_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"safety\.motors\."):
        MotorLimits(**option)


def test_at_the_rig_a_hot_motor_ends_the_step_before_anything_is_sent() -> None:
    rig, robot = logged_rig()
    for motor in robot.bus.motors.values():
        motor.model = "sts3215"
    robot.registers["Present_Temperature"] = dict.fromkeys((joint.removesuffix(".pos") for joint in JOINTS), 40)
    rig.motor_watch = MotorWatch(robot.bus, SafetyConfig().motors, robot.clock)
    rig.reset()
    for _ in range(3):
        rig.observe()
        rig.apply(np.array([10, 0, 50], np.float32))
    robot.registers["Present_Temperature"]["b"] = 80
    sent = len(robot.sent)
    with pytest.raises(JointFault) as hot:
        for _ in range(3):
            rig.observe()
            sent = len(robot.sent)
            rig.apply(np.array([10, 0, 50], np.float32))
    assert hot.value.joint == "b" and len(robot.sent) - sent <= 1
    rig.rest(hot.value)
    assert [row for what, row in robot.log if what == "off"] == ["a", "b", "gripper"]
    with pytest.raises(DeviceError, match=r"switched off \(the session ended \(JointFault\)\); open the rig again"):
        rig.reset()
    rig.close()
