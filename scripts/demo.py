"""``svm-robot demo``: the whole loop on the virtual robot, by the same verbs a person would type."""

import fcntl
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from svm_robot.errors import ConfigError

USAGE = "svm-robot demo [--quick] [--out=runs/demo] [--seeds=2] [--json]"
MARKER = "demo.json"
"""Written first into the demo's folder: only a folder with it is ever replaced. Locked while the demo runs."""


@dataclass
class DemoConfig:
    """Everything lands in one folder; an older demo in it is replaced."""

    out: Path = Path("runs/demo")  # where recordings, checkpoints, runs and the report go
    quick: bool = False  # the same stages on an easier task, smaller: about three minutes, one seed, wider intervals
    seeds: int | None = None  # finetuning runs for each reward form; otherwise 2, with --quick 1
    seed: int = 0  # everything random in the demo follows from it
    rig: str = ""  # another virtual rig's file; none: the virtual SO-101 that ships with the toolkit
    workers: int = 2  # finetuning runs at the same time, one core each
    json: bool = False  # print summary.json to standard output, and everything else to standard error

    def __post_init__(self) -> None:
        for name, least in (("seeds", 1), ("workers", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name} is {value}; it must be {least} or more")


def main(args: list[str]) -> int:
    """Record, pretrain, fit, score, finetune (svm beside outcome), report. Returns 0 when every stage ran."""
    from svm_robot.scripts.cli import parse, split_positionals, virtual_rig

    _, options = split_positionals(args, USAGE, 0, 0)
    cfg = parse(DemoConfig, options, usage=USAGE)
    if cfg.rig:
        virtual_rig(cfg.rig)  # refused before an older demo makes way
    from svm_robot.scripts.demo_stages import run_demo

    with own_folder(cfg.out):
        with redirect_stdout(sys.stderr) if cfg.json else nullcontext():
            summary = run_demo(cfg)
        if cfg.json:
            print(summary.read_text(encoding="utf-8"), end="")
    return 0


@contextmanager
def own_folder(out: Path) -> Iterator[None]:
    """An empty folder, but for the marker, that is this demo's alone; what an older demo left in it is removed.

    Raises ``ConfigError`` for a folder that no demo made, and for one in which a demo is still running: it holds the
    marker's lock, and the kernel lets go of that when its process dies.
    """
    if out.is_file():
        raise ConfigError(f"--out={out} is a file; name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise ConfigError(f"{out} exists and was not made by a demo; choose another --out")
    out.mkdir(parents=True, exist_ok=True)
    with (out / MARKER).open("a", encoding="utf-8") as marker:
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"another demo is running in {out}; wait for it, or choose another --out") from None
        (out / MARKER).write_text("{}\n", encoding="utf-8")
        for path in out.iterdir():  # the marker stays: it is the lock, and an interrupted removal can go on later
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != MARKER:
                path.unlink()
        yield
