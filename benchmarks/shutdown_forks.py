"""Processes and pipes of the shutdown matrix: arms that are asked, sessions that tell, signals that are sent."""

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import shutdown_parts as parts


def fork_arms() -> tuple[int, int, int]:
    """The process behind the wires: where to ask it, where it answers, and its id."""
    theirs, ask = os.pipe()
    told, tell = os.pipe()
    arms = os.fork()
    if not arms:
        os.close(ask)
        os.close(told)
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            parts.serve(theirs, tell)
        finally:
            os._exit(0)
    os.close(theirs)
    os.close(tell)
    return ask, told, arms


def send(child: int, numbers: Sequence[int]) -> None:
    """The second one comes while the first one is at work."""
    for number in numbers:
        os.kill(child, number)
        time.sleep(0.02)


def line_of(pipe: int) -> bytes:
    """One line from a pipe."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(pipe, 4096)
        if not part:
            raise EOFError("the process of the arms has ended")
        line += part
    return line


def teller(pipe: int) -> Any:
    """Writes (what, text, moment) on the pipe at once: the program may be ended in the next instant."""

    def say(what: str, text: str = "") -> None:
        os.write(pipe, json.dumps([what, text, time.perf_counter()]).encode() + b"\n")

    return say


def quiet(output: Path) -> None:
    """What the session prints goes into a file."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
