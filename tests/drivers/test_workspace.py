"""Where the tip is, and the box that it does not leave."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from bus_toys import feetech_arm
from lerobot.motors import MotorNormMode

from svm_robot.drivers.joints import JOINT_LIMITS, JOINTS, to_units
from svm_robot.drivers.kinematics import SO101, VIRTUAL_SO101, Kinematics, known_kinematics, virtual_kinematics
from svm_robot.drivers.safety import Safety, SafetyConfig
from svm_robot.drivers.safety.workspace import Workspace
from svm_robot.drivers.virtual.graphics import mujoco
from svm_robot.drivers.virtual.kinematics import inverse
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.drivers.virtual.world import World
from svm_robot.errors import ConfigError

ARM = virtual_kinematics(JOINTS)


def so101() -> Kinematics:
    return Kinematics(SO101, JOINTS, {link.joint: math.radians(1) for link in SO101.links})


def test_the_tip_of_the_virtual_arm_is_where_its_physics_has_it() -> None:
    world, rng = World(cameras={}), np.random.default_rng(0)
    for _ in range(30):
        targets = np.array([rng.uniform(*JOINT_LIMITS[joint]) for joint in JOINTS])
        world.data.qpos[:6] = np.radians([*targets[:5], 0.0])
        mujoco.mj_kinematics(world.model, world.data)
        np.testing.assert_allclose(ARM.tip(targets), world.data.site("grip").xpos, atol=1e-6)
    world.close()


def test_forward_undoes_inverse() -> None:
    for place in ((0.2, 0.0, 0.05), (0.15, 0.12, 0.1), (0.22, -0.1, 0.2)):
        units = to_units([*inverse(place, pitch=1.0), 0.0])
        np.testing.assert_allclose(ARM.tip(units), place, atol=1e-4)


def test_the_tip_of_a_real_so101_is_where_a_simulator_has_it() -> None:
    body, ends = "", ""
    for link in SO101.links:
        place, turn, axis = (" ".join(map(str, three)) for three in (link.offset, link.turn, link.axis))
        body += f'<body pos="{place}" euler="{turn}"><joint axis="{axis}"/><geom size=".01"/>'
        ends += "</body>"
    tip = " ".join(map(str, SO101.tip))
    xml = f"""<mujoco><compiler angle="radian" eulerseq="XYZ"/>
        <worldbody>{body}<site name="tip" pos="{tip}"/>{ends}</worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(20):
        degrees = rng.uniform(-100, 100, 6)
        data.qpos[:] = np.radians(degrees[:5])
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(so101().tip(degrees), data.site("tip").xpos, atol=1e-6)
    np.testing.assert_allclose(so101().tip(np.zeros(6)), (0.391, 0.0, 0.227), atol=1e-3)  # stretched out


def test_the_real_arm_turns_as_its_joints_say() -> None:
    zero = so101().tip(np.zeros(6))
    for degrees, moved in (
        ((20, 0, 0, 0, 0, 0), (None, -1, 0)),  # pan to the right
        ((0, 20, 0, 0, 0, 0), (None, 0, -1)),  # lift leans forward and down
        ((0, 0, 20, 0, 0, 0), (-1, 0, -1)),
        ((0, 0, 0, 20, 0, 0), (-1, 0, -1)),
    ):
        way = so101().tip(np.array(degrees, float)) - zero
        for went, sign in zip(way, moved, strict=True):
            assert sign is None or (abs(went) < 1e-6 if sign == 0 else went * sign > 0.005)


def robot(kind: str, mode: MotorNormMode = MotorNormMode.DEGREES, calibrated: bool = True) -> SimpleNamespace:
    motors, calibration = feetech_arm()
    for name, motor in motors.items():
        motor.norm_mode = MotorNormMode.RANGE_0_100 if name == "gripper" else mode
    bus = SimpleNamespace(
        motors=motors, calibration=calibration if calibrated else {}, model_resolution_table={"sts3215": 4096}
    )
    return SimpleNamespace(config=SimpleNamespace(type=kind), name="so_follower", bus=bus)


def test_percentages_are_turned_into_angles_by_the_calibration() -> None:
    degrees = known_kinematics(robot("so101_follower"), JOINTS)
    percent = known_kinematics(robot("so101_follower", MotorNormMode.RANGE_M100_100), JOINTS)
    assert degrees is not None and percent is not None
    ends = [JOINT_LIMITS[joint][1] for joint in JOINTS[:5]]
    np.testing.assert_allclose(
        percent.tip([100, 50, -50, 0, 100, 0]), degrees.tip(np.array([*ends, 0]) * [1, 0.5, -0.5, 0, 1, 1]), atol=2e-3
    )
    assert known_kinematics(robot("so101_follower", MotorNormMode.RANGE_M100_100, calibrated=False), JOINTS) is None


def test_only_known_arms_have_kinematics() -> None:
    assert known_kinematics(robot("koch_follower"), JOINTS) is None
    assert known_kinematics(robot("so101_follower"), ("a.pos",)) is None
    virtual = known_kinematics(robot("virtual_so101"), JOINTS)
    assert virtual is not None and virtual.geometry is VIRTUAL_SO101


@pytest.mark.parametrize(
    ("box", "says"),
    [
        ({"w": [0, 1]}, "no axis w"),
        ({"z": [0.3, 0.1]}, r"workspace\.z must be \[lower, upper\]"),
        ({"z": [0.3]}, "workspace.z"),
        ({"x": [float("nan"), 1]}, "workspace.x"),
    ],
)
def test_a_box_that_is_none_is_refused(box: dict[str, list[float]], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Workspace(box, ARM)


def test_a_box_for_an_unknown_robot_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"not known.*so101_follower.*safety\.limits instead"):
        Safety(SafetyConfig(workspace={"z": [0.0, 0.3]}), ("a.pos",), {}, 10.0)


def test_random_walks_never_leave_the_box() -> None:
    told: list[str] = []
    box = {"x": [0.08, 0.28], "y": [-0.12, 0.15], "z": [0.03, 0.25]}
    safety = Safety(SafetyConfig(workspace=box), JOINTS, JOINT_LIMITS, 10.0, ARM, told.append)
    rng = np.random.default_rng(5)
    here = to_units([*inverse((0.2, 0.0, 0.1), 1.0), 0.3]).astype(float)
    low, high = np.array([box[axis] for axis in "xyz"]).T
    moved = 0.0
    for _ in range(30):
        goal = np.array([rng.uniform(*JOINT_LIMITS[joint]) for joint in JOINTS])
        for _ in range(15):
            sent = safety.limit(goal, here).sent.astype(float)
            moved += float(np.abs(sent - here).sum())
            here = sent
            tip = ARM.tip(here)
            assert (tip >= low - 1e-6).all() and (tip <= high + 1e-6).all()
    assert moved > 1000, "it is not simply held"
    assert len(told) == 1 and "the tip of the gripper would go to" in told[0] and "allowed" in told[0]
    safety.restart()
    safety.limit(goal, here)
    assert len(told) == 2


def test_the_gripper_and_the_roll_are_free_at_the_wall_and_the_tip_slides() -> None:
    workspace = Workspace({"z": [0.05, 1.0]}, ARM)
    here = to_units([*inverse((0.2, 0.0, 0.051), 1.0), 0.3]).astype(float)
    wanted = here + np.array([8, 6, 0, 0, 9, 20])  # aside, down, roll, open
    kept, why = workspace.restrict(here, wanted)
    assert "z = 0.0" in why and "(allowed 0.05 to 1)" in why
    assert kept[5] == wanted[5] and kept[4] == pytest.approx(wanted[4], abs=0.1)
    assert kept[0] == pytest.approx(wanted[0], abs=0.1), "along the wall"
    assert here[1] <= kept[1] < wanted[1] - 3
    assert workspace.outside(kept) <= 1e-8


def test_a_tip_that_is_outside_walks_back_and_never_further_out() -> None:
    workspace = Workspace({"z": [0.10, 1.0]}, ARM)
    here = to_units([*inverse((0.2, 0.0, 0.05), 1.0), 0.3]).astype(float)
    out = workspace.outside(here)
    assert out == pytest.approx(0.05, abs=1e-3)
    down, why = workspace.restrict(here, here + np.array([0, 5, 0, 0, 0, 0]))
    assert why and workspace.outside(down) <= out + 1e-8
    up, why = workspace.restrict(here, here - np.array([0, 5, 0, 0, 0, 0]))
    assert (why, workspace.outside(up) < out) == ("", True)


def test_in_lockstep_the_box_holds_too() -> None:
    told: list[str] = []
    env = LockstepEnv(World(cameras={}), safety=SafetyConfig(workspace={"z": [0.08, 0.5]}), tell=told.append)
    env.reset(0)
    env.observe(frames=False)
    down = to_units([*inverse((0.2, 0.0, 0.02), 1.2), 0.3])
    for _ in range(40):
        applied = env.apply(down)
        seen = env.observe(frames=False)
    assert applied.clipped
    assert ARM.tip(applied.sent)[2] >= 0.08 - 1e-6
    assert ARM.tip(seen.state)[2] > 0.07
    assert len(told) == 1
    env.close()
