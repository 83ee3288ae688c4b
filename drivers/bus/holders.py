"""Who has a port open, as far as the system tells (Linux's /proc; elsewhere nobody is found)."""

import contextlib
import os
from pathlib import Path

PROC = Path("/proc")


def holders(port: str, proc: Path = PROC) -> list[str]:
    """Processes other than this one that hold ``port``: whoever locked it if that is known, else all that opened it."""
    try:
        target = Path(port).resolve(strict=True)
        locked = _locked_by(target.stat(), proc)
    except OSError:
        return []
    ours = str(os.getpid())
    others = [pid for pid in locked if pid != ours] or [pid for pid in _opened_by(target, proc) if pid != ours]
    return [_told(pid, proc) for pid in others]


def _locked_by(file: os.stat_result, proc: Path) -> list[str]:
    """Of lines like ``1: FLOCK  ADVISORY  WRITE 1234 00:18:5 0 EOF``."""
    found = []
    name = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    with contextlib.suppress(OSError):
        for line in (proc / "locks").read_text().splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == name:
                found.append(fields[4])
    return [pid for pid in found if (proc / pid).is_dir()]


def _opened_by(target: Path, proc: Path) -> list[str]:
    found = []
    for process in proc.iterdir() if proc.is_dir() else ():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it ended, or belongs to somebody else
            if any(_points_to(link, target) for link in (process / "fd").iterdir()):
                found.append(process.name)
    return found


def _points_to(link: Path, target: Path) -> bool:
    try:
        return link.readlink() == target
    except OSError:
        return False


def _told(pid: str, proc: Path) -> str:
    """``process 1234 (lerobot-record --robot.type=...)``."""
    try:
        words = (proc / pid / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").split()
    except OSError:
        words = []
    command = " ".join(words)
    return f"process {pid} ({command[:80]})" if command else f"process {pid}"
