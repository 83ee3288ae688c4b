"""The virtual robot in real time, in a process of its own: a serial port, cameras, and a judge's view of the table."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from svm_robot.drivers.virtual.arm import calibration
from svm_robot.drivers.virtual.camera_faults import CameraFaults
from svm_robot.drivers.virtual.cell_options import CellOptions
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.errors import DeviceError

SERVER = "svm_robot.drivers.virtual.cell_server"
START_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 20.0
CLOSE_TIMEOUT_S = 5.0
MEMORY = Path("/dev/shm")
CALIBRATION_ID = "virtual"
"""LeRobot's ``id`` of the arm: the cell's folder holds its calibration under this name."""


class VirtualCell:
    """Owns the process. The constructor only stores; ``open`` starts it; ``close`` ends it and may be called twice.

    The process also ends, and takes its port and files with it, when this one dies in any way: it watches the channel.
    """

    def __init__(self, options: CellOptions) -> None:
        self.options = options
        self.port = ""
        """Path of the serial port; empty while closed."""
        self.folder: Path | None = None
        """Where the cameras' shared memory and the arm's calibration lie while open."""
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def open(self) -> None:
        """Start; returns when the port answers and every camera has a picture. Raises ``DeviceError`` with why not."""
        if self._process is not None:
            return
        parent = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="svm-cell-", dir=parent))
        self._channel, theirs = socket.socketpair()
        log = self.folder / "log"
        command = [sys.executable, "-m", SERVER, str(self.folder), str(theirs.fileno()), self.options.to_json()]
        with theirs, log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C in the terminal reaches only us
            )
        try:
            self.port = self._receive(START_TIMEOUT_S)["port"]
            (self.folder / f"{CALIBRATION_ID}.json").write_text(json.dumps(calibration()))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process within a few seconds, however it is."""
        process, self._process = self._process, None
        if self._channel is not None:
            self._channel.close()  # the child reads this as: end
            self._channel = None
        if process is not None:
            try:
                process.wait(CLOSE_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.port, self.folder = "", None

    def reset(self, seed: int | None = None) -> None:
        """A new start of arm and scene; the servos hold the arm there if their torque is on."""
        self._ask("reset", seed=seed)

    def succeeded(self) -> bool:
        """True when the task is done right now."""
        return bool(self._ask("succeeded"))

    def privileged(self) -> dict[str, Any]:
        """Object poses, for the scripted operator and audits only (see ``World.privileged``)."""
        values: dict[str, Any] = self._ask("privileged")
        return values

    def faults(self, faults: WireFaults) -> None:
        """From now on these go wrong on the wire, and no others. Raises ``DeviceError`` for an unknown servo."""
        self._ask("faults", **asdict(faults))

    def camera_faults(self, faults: CameraFaults) -> None:
        """From now on these cameras are faulty, and no others. Raises ``DeviceError`` for an unknown camera."""
        self._ask("camera_faults", **asdict(faults))

    def status(self) -> dict[str, Any]:
        """``lost_s`` of ``running_s`` (this machine was too slow), ``packets`` by instruction, ``discarded_bytes``,
        ``torque`` by servo."""
        values: dict[str, Any] = self._ask("status")
        return values

    def _ask(self, do: str, **values: Any) -> Any:
        if self._channel is None:
            raise DeviceError("the virtual cell is closed")
        with contextlib.suppress(OSError):  # a dead child is told by what it answers: nothing
            self._channel.sendall(json.dumps({"do": do, "with": values}).encode() + b"\n")
        return self._receive(ANSWER_TIMEOUT_S)["value"]

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        assert self._channel is not None
        self._channel.settimeout(timeout_s)
        line = bytearray()
        while not line.endswith(b"\n"):
            try:
                part = self._channel.recv(65536)
            except TimeoutError:
                raise DeviceError(f"the virtual cell does not answer within {timeout_s:g} s") from None
            except ConnectionError:  # it died with our question unread
                part = b""
            if not part:
                raise DeviceError(f"the virtual cell has ended: {self._last_words()}")
            line += part
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise DeviceError(str(message["error"]))
        return message

    def _last_words(self) -> str:
        """The last line that the process wrote, read before its folder is gone."""
        try:
            assert self.folder is not None
            lines = (self.folder / "log").read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it left no message"
