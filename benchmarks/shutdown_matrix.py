"""What happens to the motors when a session is stopped while a part of it fails or hangs: the whole table.

.venv/bin/python benchmarks/shutdown_matrix.py [--only=policy,save] [--signals=SIGINT,exception] [--jobs=4] [--json]

Each row is a session of ``svm-robot record`` in a process of its own, over two virtual wires. ``safe`` is yes when hold
and torque off are in its log before anything is saved, and all servos have let go (of a follower that is gone itself
that cannot be asked). ``safe_s`` is the time from the signal, or from the step in which the part broke, to the torque
off. Exit code 1 when any row is not as it must be.
"""

import argparse
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import shutdown_parts as parts
from shutdown_forks import fork_arms, line_of, quiet, send, teller
from table import Cell, show

PARTS = (
    "none",
    "policy",
    "policy (deaf)",
    "camera close",
    "save",
    "dataset close",
    "leader bus",
    "follower bus",
    "display",
)
SIGNALS: dict[str, tuple[int, ...]] = {
    "SIGINT": (signal.SIGINT,),
    "SIGINT twice": (signal.SIGINT, signal.SIGINT),
    "SIGTERM": (signal.SIGTERM,),
    "SIGHUP": (signal.SIGHUP,),
    "exception": (),
}
CODES = {"SIGINT": 130, "SIGINT twice": 130, "SIGTERM": 143, "SIGHUP": 143, "exception": 6}
MODULES = (
    "lerobot.robots.so_follower",
    "lerobot.teleoperators.so_leader",
    "svm_robot.recording.session",
    "svm_robot.recording.stills",
    "svm_robot.drivers.bus.steady",
    "svm_robot.drivers.cameras.group",
    "svm_robot.drivers.rig_env",
    "svm_robot.drivers.terminal.operator",
    "svm_robot.drivers.virtual_so101",
    "svm_robot.scripts.evaluate",
)
DEVICE, UNCAUGHT = 5, 1
SAFE_WITHIN_S = 5.0
"""From the trouble to the torque off, with the time-outs of ``shutdown_parts`` and a computer that is busy."""
BREAKS_WITHIN_S = 0.1
"""A part that works in every step has broken so soon."""
LONGEST_S = 60.0


@dataclass
class Session:
    """One row: what is to happen, and what did."""

    part: str
    kind: str
    stop: str
    log: list[str] = field(default_factory=list)
    code: int | None = None
    safe_s: float | None = None
    total_s: float = 0.0
    torque: list[bool] = field(default_factory=list)

    @property
    def breaks_first(self) -> bool:
        """The part is one that works in every step: it is broken when the signal comes."""
        return self.part.startswith("policy") or self.part == "follower bus"

    @property
    def expected(self) -> int:
        """The exit code that is right: that of what came first, the signal or the part that broke."""
        first = self.breaks_first and (self.kind == "fails" or self.stop == "exception")
        return DEVICE if first else CODES[self.stop]

    @property
    def safe(self) -> bool:
        """The motor-safe step was the first of all."""
        names = [line.partition(":")[0] for line in self.log]
        first = names[:2] == ["hold", "torque off"]
        reached = self.part == "follower bus" or (len(self.torque) == 6 and not any(self.torque))
        return first and reached and self.safe_s is not None and self.safe_s <= SAFE_WITHIN_S

    @property
    def right(self) -> bool:
        """As it must be."""
        return self.safe and self.code == self.expected

    def row(self) -> dict[str, Cell]:
        """For the table."""
        return {
            "part": self.part,
            "kind": self.kind,
            "stopped by": self.stop,
            "safe": "yes" if self.safe else "NO",
            "safe_s": self.safe_s,
            "total_s": self.total_s,
            "exit": self.code,
            "expected": self.expected,
            "log": "; ".join(self.log),
        }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    options.add_argument("--signals", default=",".join(SIGNALS), help="how it is stopped, with commas")
    options.add_argument("--jobs", type=int, default=4, help="sessions at a time; most of them wait")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    config = preload()
    wanted = list(sessions(chosen.only.split(","), chosen.signals.split(",")))
    waiting, running = list(enumerate(wanted)), dict[int, Session]()
    with tempfile.TemporaryDirectory(prefix="shutdown-") as folder:
        while waiting or running:
            while waiting and len(running) < chosen.jobs:
                number, one = waiting.pop(0)
                running[begin(one, Path(folder, str(number)), config)] = one
            ready, _, _ = select.select(list(running), [], [])
            for pipe in ready:
                finish(running.pop(pipe), pipe)
    rows = [one.row() for one in wanted]
    show(rows if chosen.json else [{k: v for k, v in row.items() if k != "log"} for row in rows], chosen.json)
    wrong = [one for one in wanted if not one.right]
    print(f"{len(wanted) - len(wrong)} of {len(wanted)} as they must be", file=sys.stderr)
    return 1 if wrong else 0


def sessions(only: Sequence[str], stops: Sequence[str]) -> Iterator[Session]:
    """All rows."""
    for part in only:
        for kind in ("-",) if part == "none" else ("hangs",) if "deaf" in part else ("fails", "hangs"):
            for stop in stops:
                yield Session(part, kind, stop)


def preload() -> Any:
    """What all sessions have in common, which are forks: no thread may run here. Returns their configuration."""
    for module in MODULES:
        importlib.import_module(module)
    from svm_robot.scripts.cli import parse
    from svm_robot.scripts.record import USAGE, RecordConfig

    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as rig:
        rig.write(parts.RIG)
        rig.flush()
        config = parse(RecordConfig, parts.COMMAND[2:], rig=rig.name, usage=USAGE)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # a library's allocator
    gc.freeze()  # forks share what nobody touches
    return config


def begin(one: Session, folder: Path, config: Any) -> int:
    """Fork the process that watches one session; returns the pipe on which it tells what happened."""
    listen, tell = os.pipe()
    if os.fork():
        os.close(tell)
        return listen
    code = 1
    try:
        os.close(listen)
        folder.mkdir()
        watch(one, folder, config)
        os.write(tell, json.dumps([one.log, one.code, one.safe_s, one.total_s, one.torque]).encode())
        code = 0
    except BaseException:  # noqa: BLE001  (told, and then this process is over in any case)
        traceback.print_exc()
    finally:
        os._exit(code)


def finish(one: Session, pipe: int) -> None:
    """Read what the watching process tells."""
    told = b""
    while more := os.read(pipe, 65536):
        told += more
    os.close(pipe)
    os.wait()
    if told:
        one.log, one.code, one.safe_s, one.total_s, one.torque = json.loads(told)


def watch(one: Session, folder: Path, config: Any) -> None:
    """Start the arms and the session, send the signals, and ask the servos at the end."""
    ask, told, arms = fork_arms()
    ports = json.loads(line_of(told))
    lines, say = os.pipe()
    child = os.fork()
    if not child:
        os.close(lines)
        code = UNCAUGHT
        try:
            quiet(folder / "output")
            code = parts.session(one.part, one.kind, one.stop == "exception", ports, folder, config, teller(say))
        except BaseException:  # noqa: BLE001  (as the interpreter would: a traceback and exit code 1)
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(say)
    follow(one, child, lines)
    os.write(ask, b"?")
    one.torque = json.loads(line_of(told))
    os.close(ask)
    os.waitpid(arms, 0)


def follow(one: Session, child: int, lines: int) -> None:
    """Hear the session until it ends."""
    began_s = time.perf_counter()
    moving_s: float | None = None
    with os.fdopen(lines, encoding="utf-8") as heard:
        while select.select([heard], [], [], max(0.0, began_s + LONGEST_S - time.perf_counter()))[0]:
            line = heard.readline()
            if not line:
                break
            what, text, at_s = json.loads(line)
            if what == "moving":
                moving_s = at_s
                if one.breaks_first:
                    time.sleep(BREAKS_WITHIN_S)
                send(child, SIGNALS[one.stop])
            else:
                one.log.append(text)
                if text.startswith("torque off") and one.safe_s is None and moving_s is not None:
                    one.safe_s = at_s - moving_s
    with suppress(ProcessLookupError):
        if time.perf_counter() > began_s + LONGEST_S:
            os.kill(child, signal.SIGKILL)
    one.code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    one.total_s = time.perf_counter() - (moving_s or began_s)


if __name__ == "__main__":
    sys.exit(main())
