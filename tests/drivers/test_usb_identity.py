"""Ports and cameras are found by what they are, never by the order in which they were plugged in."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cameras import DeviceTree
from lerobot.robots.bi_so_follower import BiSOFollowerConfig
from lerobot.robots.so_follower import SO101FollowerConfig, SOFollowerConfig

from svm_robot.drivers.cameras.devices import VideoDevice, video_devices
from svm_robot.drivers.usb import ports as ports_module
from svm_robot.drivers.usb.access import User, no_access
from svm_robot.drivers.usb.identity import choose, identity_of, is_identity, is_volatile
from svm_robot.drivers.usb.ports import SerialPort, bind_ports, resolve_port, serial_ports
from svm_robot.errors import ConfigError, DeviceError


def info(device: str, serial: str | None = None, location: str | None = "1-2", **more: Any) -> SimpleNamespace:
    """What pyserial tells of a port."""
    told = {"vid": 0x1A86, "pid": 0x55D3, "product": "USB Serial", "description": "n/a"}
    return SimpleNamespace(device=device, serial_number=serial, location=location, **{**told, **more})


@pytest.fixture
def dev(tmp_path: Path) -> Callable[..., list[SerialPort]]:
    """Plugs ports in: ``dev({"ttyACM0": ("AAA", "1-1:1.0")})``."""

    def plug(found: dict[str, tuple[str | None, str | None]]) -> list[SerialPort]:
        for old in tmp_path.glob("tty*"):
            old.unlink()
        for name in found:
            (tmp_path / name).touch(mode=0o660)
        told = [info(str(tmp_path / name), serial, where) for name, (serial, where) in found.items()]
        return serial_ports(lambda: told, tmp_path / "by-id")

    return plug


@pytest.fixture(autouse=True)
def nobody_holds_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports_module, "holders", lambda path: [])


def test_a_port_is_found_by_serial_wherever_it_turns_up(dev: Callable[..., list[SerialPort]]) -> None:
    before = dev({"ttyACM0": ("AAA", "1-1:1.0"), "ttyACM1": ("BBB", "1-2:1.0")})
    after = dev({"ttyACM0": ("BBB", "1-2:1.0"), "ttyACM1": ("AAA", "3-4:1.0")})
    assert resolve_port("usb:AAA", "robot.port", before)[0].endswith("ttyACM0")
    assert resolve_port("usb:AAA", "robot.port", dev({"ttyACM1": ("AAA", "3-4:1.0")}))[0].endswith("ttyACM1")
    assert [port.socket for port in after] == ["1-2", "3-4"]


def test_a_missing_port_is_named_with_those_that_are_there(dev: Callable[..., list[SerialPort]]) -> None:
    present = dev({"ttyACM0": ("BBB", "1-2")})
    with pytest.raises(DeviceError, match=r"robot\.port is missing: no device usb:AAA .*usb:BBB \(USB Serial\)"):
        resolve_port("usb:AAA", "robot.port", present)
    with pytest.raises(DeviceError, match="present: none"):
        resolve_port("usb:AAA", "robot.port", [])
    with pytest.raises(ConfigError, match="nothing stands behind 'usb:'"):
        resolve_port("usb:", "robot.port", present)


def test_equal_serial_numbers_are_told_apart_by_their_socket(dev: Callable[..., list[SerialPort]]) -> None:
    present = dev({"ttyUSB0": ("0001", "1-1"), "ttyUSB1": ("0001", "1-2"), "ttyUSB2": (None, "1-3")})
    with pytest.raises(ConfigError, match=r"2 devices have the serial number 0001; .*usb-port:1-1 or usb-port:1-2"):
        resolve_port("usb:0001", "robot.port", present)
    assert [identity_of(port, present) for port in present] == ["usb-port:1-1", "usb-port:1-2", "usb-port:1-3"]
    path, notes = resolve_port("usb-port:1-2", "robot.port", present)
    assert path.endswith("ttyUSB1")
    assert notes == []


def test_two_interfaces_of_one_device_are_not_guessed(dev: Callable[..., list[SerialPort]]) -> None:
    present = dev({"ttyUSB0": ("Q", "1-1:1.0"), "ttyUSB1": ("Q", "1-1:1.1")})
    with pytest.raises(ConfigError, match=r"has 2 of them; write the path of one: .*ttyUSB0 or .*ttyUSB1"):
        resolve_port("usb:Q", "robot.port", present)


def test_a_volatile_path_is_kept_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    port = SerialPort("/dev/ttyACM7", "arm", "AAA", "1-1", (1, 2), ())
    monkeypatch.setattr(ports_module, "no_access", lambda path, usb: "")
    path, notes = resolve_port("/dev/ttyACM7", "teleop.port", [port])
    assert (path, len(notes)) == ("/dev/ttyACM7", 1)
    assert "teleop.port is /dev/ttyACM7" in notes[0] and "'usb:AAA' does not" in notes[0]
    assert resolve_port("/dev/pts/3", "robot.port", [port]) == ("/dev/pts/3", [])


def test_every_port_of_a_two_armed_robot_is_bound(dev: Callable[..., list[SerialPort]]) -> None:
    present = dev({"ttyACM0": ("R", "1-1"), "ttyACM1": ("L", "1-2")})
    config = BiSOFollowerConfig(
        left_arm_config=SOFollowerConfig(port="usb:L"), right_arm_config=SOFollowerConfig(port="usb:R")
    )
    bound, _ = bind_ports(config, "robot", lambda: present)
    assert bound.left_arm_config.port.endswith("ttyACM1")
    assert bound.right_arm_config.port.endswith("ttyACM0")
    assert config.left_arm_config.port == "usb:L", "the rig file's own words stay"
    with pytest.raises(DeviceError, match=r"robot\.right_arm_config\.port is missing"):
        bind_ports(config, "robot", lambda: present[1:])


def test_nobody_is_asked_for_ports_where_none_is_named() -> None:
    def no_ports() -> list[SerialPort]:
        raise AssertionError("not needed")

    @dataclass
    class Portless:
        name: str = "x"

    assert bind_ports(Portless(), "robot", no_ports) == (Portless(), [])


def test_a_port_in_use_names_who(dev: Callable[..., list[SerialPort]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports_module, "holders", lambda path: ["process 12 (lerobot-record)"])
    with pytest.raises(DeviceError, match=r"robot\.port \(usb:A\) is in use by process 12 \(lerobot-record\)"):
        bind_ports(SO101FollowerConfig(port="usb:A"), "robot", lambda: dev({"ttyACM0": ("A", "1-1")}))


OUTSIDER = User("ann", frozenset({"ann"}), frozenset({"ann"}))


def nothing(path: str, mode: int) -> bool:
    return False


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o440])
def test_without_a_group_the_exact_udev_rule_is_told(tmp_path: Path, mode: int) -> None:
    port = tmp_path / "ttyACM0"
    port.touch()
    port.chmod(mode)
    told = no_access(str(port), (0x1A86, 0x55D3), may=nothing, user=OUTSIDER)
    assert 'SUBSYSTEM=="tty", ATTRS{idVendor}=="1a86", ATTRS{idProduct}=="55d3", GROUP="dialout", MODE="0660"' in told
    camera = port.rename(tmp_path / "video0")
    assert 'SUBSYSTEM=="video4linux", KERNEL=="video0", GROUP="video"' in no_access(
        str(camera), may=nothing, user=OUTSIDER
    )


def test_with_a_group_the_exact_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svm_robot.drivers.usb.access._group_name", lambda gid: "dialout")
    port = tmp_path / "ttyACM0"
    port.touch()
    port.chmod(0o660)
    assert "sudo usermod -aG dialout ann, then" in no_access(str(port), may=nothing, user=OUTSIDER)
    joined = User("ann", frozenset({"ann"}), frozenset({"dialout"}))
    assert "joined the group dialout after this login" in no_access(str(port), may=nothing, user=joined)
    assert no_access(str(port)) == ""
    assert User.current().name


@pytest.fixture
def tree(tmp_path: Path) -> DeviceTree:
    return DeviceTree(tmp_path)


def found(tree: DeviceTree) -> list[VideoDevice]:
    return video_devices(tree.root, tree.can_capture)


def test_only_nodes_that_take_pictures_count(tree: DeviceTree) -> None:
    tree.plug(10, "1-2", "F")
    tree.plug(2, "1-1", "W", name="C920")
    tree.plug(3, "1-1", "W", name="C920", captures=False)  # metadata of the same camera
    tree.plug(0, name="csi")
    told = found(tree)
    assert [Path(device.path).name for device in told] == ["video0", "video2", "video10"]
    assert [(d.name, d.serial, d.socket, d.usb) for d in told[:2]] == [
        ("csi", "", "", None),
        ("C920", "W", "1-1", (0x046D, 0x0825)),
    ]
    assert [os.path.basename(link) for link in told[1].links] == ["pci-usb-1-1-video-index2"]  # noqa: PTH119
    assert [identity_of(device, told) for device in told] == ["", "usb:W", "usb:F"]


def test_no_video_at_all(tmp_path: Path) -> None:
    assert video_devices(tmp_path) == []


def test_cameras_keep_their_roles_however_they_are_numbered(tree: DeviceTree) -> None:
    for numbers in ((0, 2), (2, 0), (4, 1)):
        tree.unplug_all()
        tree.plug(numbers[0], "1-1", "FRONT")
        tree.plug(numbers[1], "1-2", "WRIST")
        if 0 not in numbers:
            tree.plug(0, "2-1", "BUILT-IN")
        front, wrist = (choose(f"usb:{name}", found(tree), name, "find") for name in ("FRONT", "WRIST"))
        assert (front.path[-1], wrist.path[-1]) == tuple(map(str, numbers))
    tree.unplug_all()
    tree.plug(0, "1-1", "FRONT")
    with pytest.raises(DeviceError, match="camera 'wrist' is missing: no device usb:WRIST"):
        choose("usb:WRIST", found(tree), "camera 'wrist'", "find")


@pytest.mark.parametrize(
    ("text", "identity", "volatile"),
    [
        ("usb:1", True, False), ("usb-port:1-1", True, False), ("0", False, True), ("/dev/video12", False, True),
        ("/dev/ttyACM0", False, True), ("/dev/v4l/by-id/usb-cam-index0", False, False), ("movie.mp4", False, False),
    ],
)  # fmt: skip
def test_what_a_text_is(text: str, identity: bool, volatile: bool) -> None:
    assert (is_identity(text), is_volatile(text)) == (identity, volatile)
