"""``svm-robot find``: what is plugged in, in words and as JSON; two equal devices told apart by unplugging one."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest
from clocks import FakeClock
from fake_cameras import DeviceTree, Scene, scripted_scenes

from svm_robot.drivers.cameras.devices import VideoDevice, video_devices
from svm_robot.drivers.cameras.mode import Mode
from svm_robot.drivers.find import look_at, unplugged
from svm_robot.drivers.usb.ports import SerialPort
from svm_robot.scripts import find
from svm_robot.scripts.main import main

ARM = SerialPort("/dev/ttyACM0", "USB Single Serial", "5A46", "1-2", (0x1A86, 0x55D3), ("/dev/serial/by-id/usb-5A46",))
LEADER = SerialPort("/dev/ttyACM1", "USB Single Serial", "5A47", "1-3", (0x1A86, 0x55D3), ())


def present(monkeypatch: pytest.MonkeyPatch, *devices: SerialPort | VideoDevice) -> None:
    monkeypatch.setattr(find, "present", lambda kind: list(devices))
    monkeypatch.setattr(
        "svm_robot.drivers.find.look_at", lambda found: look_at(found, lambda path: [], lambda path, usb: "")
    )


def run(*words: str) -> int:
    return main(["find", *words])


def test_ports_are_listed_with_what_to_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    present(monkeypatch, ARM, LEADER)
    assert run("ports") == 0
    told = capsys.readouterr().out
    assert "/dev/ttyACM0  USB Single Serial (1a86:55d3)\n  write     port: usb:5A46\n" in told
    assert "port: usb:5A47" in told and "/dev/serial/by-id/usb-5A46" in told
    assert run("ports", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["ports"]
    assert [(row["path"], row["identity"], row["usb"]) for row in rows] == [
        ("/dev/ttyACM0", "usb:5A46", "1a86:55d3"),
        ("/dev/ttyACM1", "usb:5A47", "1a86:55d3"),
    ]


def test_problems_are_told_with_the_line_that_mends_them() -> None:
    found = look_at([ARM], lambda path: ["process 7 (record)"], lambda path, usb: "no permission: sudo usermod ...")
    text = "\n".join(find.lines(found[0], "ports"))
    assert "in use by process 7 (record)" in text and "problem   no permission: sudo usermod" in text


def test_nothing_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    present(monkeypatch)
    assert (run("ports"), run("cameras")) == (0, 0)
    told = capsys.readouterr().out
    assert "no serial port is plugged in; check cable" in told and "no camera is plugged in" in told
    assert run("cameras", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"cameras": []}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeviceTree:
    made = DeviceTree(tmp_path / "root")
    monkeypatch.setattr(find, "present", lambda kind: video_devices(made.root, made.can_capture))
    return made


def test_cameras_are_listed_by_the_best_name_they_have(
    tree: DeviceTree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("svm_robot.drivers.find.modes", lambda path: [Mode(640, 480, 30, "MJPG")])
    tree.plug(0, "1-1", "C1", name="C920")
    tree.plug(2, "1-2", "SAME")
    tree.plug(4, "1-3", "SAME")
    tree.plug(6, "1-4")
    tree.plug(8, "1-5", "TWIN")
    tree.plug(9, "1-5", "TWIN")
    tree.plug(10, name="csi")
    assert run("cameras", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["cameras"]
    by_path = f"{tree.root}/dev/v4l/by-path/pci-usb-1-5-video-index"
    assert [row["identity"] for row in rows] == [
        "usb:C1", "usb-port:1-2", "usb-port:1-3", "usb-port:1-4", f"{by_path}8", f"{by_path}9", "",
    ]  # fmt: skip
    assert rows[0]["modes"] == [{"width": 640, "height": 480, "fps": 30, "fourcc": "MJPG"}]
    assert "another one has its serial number SAME too" in rows[1]["note"] and "--unplug" in rows[1]["note"]
    assert "it has no serial number" in rows[3]["note"]
    assert run("cameras") == 0
    told = capsys.readouterr().out
    assert "index_or_path: usb:C1" in told and "MJPG 640x480 at 30" in told


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int | str, Scene]]:
    yield from scripted_scenes(monkeypatch)


def test_thumbnails_of_those_that_give_one(
    tree: DeviceTree, scenes: dict[int | str, Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    tree.plug(0, "1-1", "C 1/x")
    tree.plug(2, "1-2", "C2")
    scenes[0] = Scene(64, 48)
    guarded = "svm_robot.drivers.cameras.guard.video_devices"
    monkeypatch.setattr(f"{guarded}.__defaults__", (tree.root, tree.can_capture))
    monkeypatch.setattr("fake_cameras.ScriptedCapture.forced", {3: 64, 4: 48, 5: 30})
    assert run("cameras", f"--thumbnails={tmp_path / 'seen'}", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["cameras"]
    assert Path(rows[0]["thumbnail"]).name == "usb_C_1_x.jpg"
    picture = cv2.imread(rows[0]["thumbnail"])
    assert picture is not None and picture.shape == (240, 320, 3)
    assert "camera 'video2' (usb:C2" in rows[1]["no_picture"]
    assert os.listdir(tmp_path / "seen") == ["usb_C_1_x.jpg"]  # noqa: PTH208


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["prots"], "cannot find 'prots' (did you mean ports?)"),
        ([], "expected: svm-robot find ports|cameras"),
        (["ports", "cameras"], "expected: svm-robot find"),
        (["ports", "--unplug", "--json"], "--unplug is a conversation"),
        (["ports", "--thumbnails=x"], "--thumbnails is for cameras"),
        (["ports", "--unplug", "--timeout-s=0"], "timeout_s is 0.0; it must be"),
        (["cameras", "--unplug"], "--unplug needs a terminal; without one compare two lists"),
    ],
)
def test_wrong_use(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    assert says in capsys.readouterr().err


class Desk:
    """Somebody unplugs and plugs while time passes."""

    def __init__(self, *moves: tuple[float, list[Any]]) -> None:
        self.clock, self.moves, self.said = FakeClock(), moves, list[str]()

    def devices(self) -> list[Any]:
        past_s = self.clock.time_s - 100
        return [devices for at_s, devices in self.moves if past_s >= at_s][-1]

    def ask(self) -> Any:
        return unplugged(self.devices, self.clock, 10.0, self.said.append)


def camera(path: str, socket: str) -> VideoDevice:
    return VideoDevice(path, "Webcam", "0001", socket, (1, 2), ())


def test_two_equal_cameras_are_told_apart_by_unplugging_one() -> None:
    a, b, b_again = camera("/dev/video0", "1-1"), camera("/dev/video2", "1-2"), camera("/dev/video3", "1-2")
    desk = Desk((0, [a, b]), (2, [a]), (5, [a, b_again]))
    found = desk.ask()
    assert (found.identity, found.device.path) == ("usb-port:1-2", "/dev/video3")
    assert "2 there now. Unplug" in desk.said[0] and "/dev/video2" in desk.said[1]


def test_nobody_unplugs_anything() -> None:
    desk = Desk((0, [camera("/dev/video0", "1-1")]))
    assert desk.ask() is None
    assert desk.clock.time_s == pytest.approx(110, abs=1)


def test_the_guided_way_needs_a_terminal_and_somebody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    present(monkeypatch, ARM, LEADER)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert run("ports", "--unplug", "--timeout_s=0.1") == 2
    assert "nothing was unplugged within 0.1 s" in capsys.readouterr().err
