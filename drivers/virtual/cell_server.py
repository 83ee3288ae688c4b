"""The child process behind ``VirtualCell``: one world in real time, its servos on a port, its cameras in shared memory.

One thread owns the world (and the drawing context): it steps the physics by the clock, lets the servos exchange with
it, draws each camera when it is due, and answers the parent. The wire has a thread of its own and touches registers
only, so a reply never waits for a picture.
"""

import contextlib
import json
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from svm_robot.drivers.virtual.arm import ServoedArm, factory_servos
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.camera_faults import CameraFaults
from svm_robot.drivers.virtual.camera_feed import CameraFeed
from svm_robot.drivers.virtual.cell_options import CellOptions
from svm_robot.drivers.virtual.pace import RealTimePace
from svm_robot.drivers.virtual.wire import Wire
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.drivers.virtual.world import World
from svm_robot.errors import SvmRobotError

STEP_S = 0.005
"""The servos' inner loop."""
MAX_BEHIND_S = 0.1
SWITCH_INTERVAL_S = 0.0005
"""How long the world's thread may keep the interpreter while the wire has an answer to give."""


class CellServer:
    """Runs until the parent is gone or closes the channel."""

    def __init__(self, options: CellOptions, folder: Path, channel: socket.socket) -> None:
        self.channel = channel
        self.world = World(options.task, options.disturbance, options.sizes, options.seed)
        self.bus = Bus(factory_servos())
        self.arm = ServoedArm(self.world, self.bus)
        self.wire = Wire(self.bus, wire_time=options.wire_time)
        self.cameras = [CameraFeed(self.world, role, rate, folder / role) for role, rate in options.rates.items()]
        self.pace = RealTimePace(STEP_S, MAX_BEHIND_S)
        self.running, self.started_s = True, 0.0
        self.requests: dict[str, Callable[..., Any]] = {
            "reset": self.reset,
            "succeeded": self.world.succeeded,
            "privileged": self.world.privileged,
            "faults": self.faults,
            "camera_faults": self.camera_faults,
            "status": self.status,
        }

    def run(self) -> None:
        """Serve. Tells the parent the port first, when every camera has a picture."""
        for camera in self.cameras:
            self.world.render(camera.role)  # the first picture is slow; nobody shall find it old
        self.reset_scene()
        self.wire.open()
        with contextlib.ExitStack() as stack:
            stack.callback(self.world.close)
            stack.callback(self.wire.close)
            self.send({"port": self.wire.port})
            self.started_s = time.perf_counter()
            self.pace.start(self.started_s)
            while self.running:
                self.turn()

    def turn(self) -> None:
        """Physics up to now, cameras that are due, then wait for the next of these or for the parent."""
        for _ in range(self.pace.due(time.perf_counter())):
            self.arm.exchange()
            self.world.advance(STEP_S)
        for camera in self.cameras:
            now = time.perf_counter()
            if now >= camera.due_s:
                camera.shoot(now)
        next_s = min([self.pace.next_s(), *(camera.due_s for camera in self.cameras)])
        patience = max(0.0, next_s - time.perf_counter())
        if select.select([self.channel], [], [], patience)[0]:
            self.listen()

    def listen(self) -> None:
        """One request of the parent, one line each way."""
        line = _read_line(self.channel)
        if not line:
            self.running = False  # the parent is gone, or done with us
            return
        request = json.loads(line)
        try:
            value = self.requests[request["do"]](**request["with"])
        except (SvmRobotError, ValueError, TypeError) as error:
            self.send({"error": str(error)})
        else:
            self.send({"value": value})

    def send(self, message: dict[str, Any]) -> None:
        self.channel.sendall(json.dumps(message).encode() + b"\n")

    def reset(self, seed: int | None) -> None:
        """A new start of the scene."""
        self.world.reset(seed)
        self.reset_scene()

    def reset_scene(self) -> None:
        """Servos and cameras see the world as it is now."""
        self.arm.hold()
        now = time.perf_counter()
        for camera in self.cameras:
            camera.shoot(now)

    def faults(self, errors: dict[str, int], **others: Any) -> None:
        """See ``WireFaults``; JSON has made strings of the servo ids."""
        self.bus.set_faults(WireFaults(errors={int(servo): byte for servo, byte in errors.items()}, **others))

    def camera_faults(self, **faults: Any) -> None:
        """See ``CameraFaults``."""
        wanted = CameraFaults(**faults)
        wanted.check([camera.role for camera in self.cameras])
        for camera in self.cameras:
            camera.set_faults(wanted)

    def status(self) -> dict[str, Any]:
        """How the cell is doing."""
        return {
            "lost_s": self.pace.lost_s,
            "running_s": time.perf_counter() - self.started_s,
            "packets": {str(code): count for code, count in self.bus.counts.items()},
            "discarded_bytes": self.wire.parser.discarded,
            "torque": [servo.torque for servo in self.bus.servos],
        }


def _read_line(channel: socket.socket) -> bytes:
    """One line; empty when the other end is closed."""
    line = bytearray()
    while not line.endswith(b"\n"):
        try:
            part = channel.recv(4096)
        except ConnectionError:
            return b""
        if not part:
            return b""
        line += part
    return bytes(line)


def main(arguments: list[str]) -> int:
    """``FOLDER DESCRIPTOR OPTIONS``: see ``VirtualCell``, which starts this."""
    folder, descriptor, options = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's: it must find the arm alive to stop it
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    channel = socket.socket(fileno=int(descriptor))
    try:
        CellServer(CellOptions.from_json(options), Path(folder), channel).run()
    except SvmRobotError as error:
        channel.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
        return error.exit_code
    shutil.rmtree(folder, ignore_errors=True)  # the parent may be gone; after an error it still reads the log
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
