"""The rig files that ship, and rig files as clumsy people write them."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.rig import RigConfig
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.virtual.tasks import TASKS
from svm_robot.errors import ConfigError, DeviceError
from svm_robot.scripts.cell import open_cell
from svm_robot.scripts.cli import parse

RIGS = sorted((Path(__file__).resolve().parents[2] / "rigs").glob("*.yaml"))
LOCKSTEP, WIRE, REAL = (
    str(RIGS[0].with_name(f"{name}.yaml")) for name in ("virtual_so101", "virtual_so101_wire", "so101")
)


@pytest.mark.parametrize("path", RIGS, ids=lambda path: path.name)
def test_every_rig_that_ships_can_be_read(path: Path) -> None:
    rig = parse(RigConfig, [], rig=str(path))
    assert rig.task
    assert {"front", "wrist"} <= set(rig.robot.cameras)
    virtual = isinstance(rig.robot, VirtualSO101Config)
    assert rig.episode_s >= (TASKS[rig.robot.task].time_limit_s if virtual else 8.0), "time enough for the task"


def test_the_virtual_rigs_differ_by_their_link() -> None:
    lockstep, wire = (parse(RigConfig, [], rig=path).robot for path in (LOCKSTEP, WIRE))
    assert isinstance(lockstep, VirtualSO101Config)
    assert isinstance(wire, VirtualSO101Config)
    assert (lockstep.link, wire.link) == ("lockstep", "wire")
    assert lockstep.camera_sizes == {"front": (64, 64), "wrist": (64, 64)}


def test_the_home_folder_in_a_rig_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    rig = tmp_path / "rig.yaml"
    rig.write_text(Path(LOCKSTEP).read_text().replace("dataset_root: runs/", "dataset_root: ~/runs/"))
    assert parse(RigConfig, [], rig=str(rig)).dataset_root == str(tmp_path / "runs" / "virtual_so101")


def test_overrides_like_lerobots() -> None:
    rig = parse(RigConfig, ["--robot.port=/dev/ttyUSB7", "--rate_hz=20", "--safety.max_speed=10"], rig=REAL)
    assert (rig.robot.port, rig.rate_hz, rig.safety.max_speed) == ("/dev/ttyUSB7", 20.0, 10.0)
    assert rig.teleop is not None
    rig = parse(RigConfig, ["--robot.disturbance.slip=0.5"], rig=LOCKSTEP)
    assert isinstance(rig.robot, VirtualSO101Config)
    assert rig.robot.disturbance.slip == 0.5


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--robot.link=telepathy", "robot.link is 'telepathy'; it is one of: wire, lockstep"),
        ("--robot.type=so102", "so101_follower"),
        ("--rate_hz=0", "rate_hz is 0.0; it must be a number above 0"),
        ("--rate_hz=nan", "rate_hz is nan"),
        ("--seed=-1", "seed is -1; it must be 0 or more"),
        ("--episode_s=0.01", "an episode of 0.01 s at 10.0 Hz has no step"),
        ("--robot.cameras={side: {type: virtual}}", "no camera 'side'; its cameras are: front, wrist"),
        ("--robot.cameras={front: {type: opencv, index_or_path: 0, fps: 30, width: 4, height: 4}}", "type: virtual"),
        ("--robot.cameras={front: {type: virtual, width: 0}}", "width of a virtual camera is 0; it must be above 0"),
        ("--robot.disturbance.slip=-1", "disturbance.slip must be a number from 0 up"),
    ],
)
def test_wrong_values_are_named(option: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(RigConfig, [option], rig=LOCKSTEP)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_lockstep_cell_has_judge_and_expert_and_no_teleoperator() -> None:
    rig = parse(RigConfig, [], rig=LOCKSTEP)
    with open_cell(rig, clumsiness=0.0) as cell:
        cell.env.reset(3)
        action = cell.expert(3).act(cell.env.observe(frames=False))
        assert action.shape == (1, 6)
        assert cell.judge().outcome() == "failure"
        with pytest.raises(ConfigError, match=r"set robot\.link to wire"):
            cell.teleop()


def test_a_missing_arm_is_one_clear_error() -> None:
    rig = parse(RigConfig, ["--robot.port=/dev/ttyNOWHERE"], rig=REAL)
    with pytest.raises(ConnectionError, match="ttyNOWHERE"), open_cell(rig):
        pass


class PoweredArm:
    """A connected arm whose motors hold; ``pressed`` is what happens while its cameras start."""

    name = robot_type = "powered"
    action_features = observation_features = {"a.pos": float}  # noqa: RUF012
    is_calibrated = True

    def __init__(self, pressed: BaseException | None) -> None:
        self.config, self.bus, self.pressed, self.motors = SimpleNamespace(), self, pressed, {"a": 1}
        self.is_connected, self.torque, self.calibration = False, False, dict[str, object]()

    def connect(self, calibrate: bool) -> None:
        self.is_connected = self.torque = True
        if self.pressed is not None:
            raise self.pressed

    def disable_torque(self, motor: str, num_retry: int) -> None:
        self.torque = False

    def disconnect(self, disable_torque: bool = True) -> None:
        self.is_connected = False


@pytest.mark.parametrize("pressed", [KeyboardInterrupt(), None])
def test_an_arm_that_is_refused_or_interrupted_is_left_without_torque(
    pressed: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = PoweredArm(pressed)
    monkeypatch.setattr("lerobot.robots.make_robot_from_config", lambda config: arm)
    rig = parse(RigConfig, ["--safety.limits={elbow.pos: [0, 1]}"], rig=REAL)  # this arm has no such joint
    with pytest.raises((KeyboardInterrupt, ConfigError)), open_cell(rig):
        pass
    assert (arm.torque, arm.is_connected) == (False, False)


@pytest.fixture
def powered(monkeypatch: pytest.MonkeyPatch) -> tuple[RigConfig, PoweredArm]:
    """A rig with an arm of one joint that can be connected."""
    rig, arm = parse(RigConfig, [], rig=REAL), PoweredArm(None)
    rig.start_pose, rig.safety = None, SafetyConfig(limits={"a.pos": [0.0, 1.0]})
    monkeypatch.setattr("lerobot.robots.make_robot_from_config", lambda config: arm)
    return rig, arm


def test_a_shutdown_that_fails_does_not_hide_what_ended_the_session(
    powered: tuple[RigConfig, PoweredArm], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rig, arm = powered
    monkeypatch.setattr(arm, "disable_torque", Mock(side_effect=OSError("motor a is silent")))
    with pytest.raises(DeviceError, match="check the cable"), open_cell(rig):
        raise DeviceError("check the cable")
    assert "note: while switching the robot off: motor a is silent; cut its power" in capsys.readouterr().err
    with pytest.raises(DeviceError, match="motor a is silent; cut its power"), open_cell(rig):
        pass


def test_a_leader_that_cannot_be_switched_off_is_told_and_the_arm_is_off(
    powered: tuple[RigConfig, PoweredArm], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rig, arm = powered
    leader = PoweredArm(None)
    monkeypatch.setattr(leader, "disconnect", Mock(side_effect=OSError("leader unplugged")))
    monkeypatch.setattr("lerobot.teleoperators.make_teleoperator_from_config", lambda config: leader)
    with open_cell(rig) as cell:
        cell.teleop()
    assert "note: while switching the teleoperator off: leader unplugged" in capsys.readouterr().err
    assert (arm.torque, arm.is_connected, leader.torque) == (False, False, False)


def test_a_camera_that_tells_no_time_is_told(
    powered: tuple[RigConfig, PoweredArm], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rig, arm = powered
    monkeypatch.setattr(arm, "observation_features", {"a.pos": float, "side": (4, 6, 3)})
    with open_cell(rig):
        pass
    assert capsys.readouterr().err.count("note: camera 'side' tells no capture time") == 1
