"""The devices of docs/adding-a-device.md, made from the page itself, and the other end of the wire of its robot."""

import importlib.util
import os
import pty
import re
import select
import sys
import tempfile
import threading
import tty
from functools import cache
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).resolve().parents[1] / "docs" / "adding-a-device.md"


def example(name: str) -> str:
    """The text of one example on the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"<!-- example: {re.escape(name)} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert found, f"{PAGE.name} has no example {name}"
    return found.group(1)


@cache
def device(name: str) -> ModuleType:
    """The module ``svm_robot.drivers.NAME``, as if the file lay there."""
    folder = Path(tempfile.mkdtemp(prefix="doc-device-"))
    path = folder / f"{name}.py"
    path.write_text(example(f"{name}.py"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"svm_robot.drivers.{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    path.unlink()
    folder.rmdir()
    return module


class Head:
    """The pan-tilt head: answers lines on a pseudo-terminal, and is at its goal at once."""

    def __init__(self) -> None:
        self.angles, self.holds, self.dumb = [0.0, 0.0], False, False
        self._hand, self._theirs = pty.openpty()
        for end in (self._hand, self._theirs):
            tty.setraw(end)
        self.port = os.ttyname(self._theirs)
        self._stop, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        os.close(self._wake)
        self._thread.join()
        for end in (self._hand, self._theirs, self._stop):
            os.close(end)

    def _serve(self) -> None:
        heard = b""
        while True:
            ready, _, _ = select.select([self._hand, self._stop], [], [])
            if self._stop in ready:
                return
            heard += os.read(self._hand, 1024)
            *lines, heard = heard.split(b"\n")
            for line in lines:
                self._answer(line.decode())

    def _answer(self, line: str) -> None:
        if line.startswith("="):
            self.angles, self.holds = [float(word) for word in line.split()[1:]], True
        self.holds &= line != "off"
        if not self.dumb:
            os.write(self._hand, f"{self.angles[0]} {self.angles[1]}\n".encode())
