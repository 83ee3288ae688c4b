"""``svm-robot demo``: the whole loop on the virtual robot, by the same verbs a person would type."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from svm_robot.errors import ConfigError

USAGE = "svm-robot demo [--quick=true] [--out=runs/demo] [--seeds=2]"
MARKER = "demo.json"
"""Written first into the demo's folder: only a folder with it is ever replaced."""


@dataclass
class DemoConfig:
    """Everything lands in one folder; an older demo in it is replaced."""

    out: Path = Path("runs/demo")  # where recordings, checkpoints, runs and the report go
    quick: bool = False  # the same stages on an easier task, smaller: about three minutes, one seed, wider intervals
    seeds: int = 2  # finetuning runs for each reward form
    seed: int = 0  # everything random in the demo follows from it
    rig: str = ""  # another rig file; none: the virtual SO-101 that ships with the toolkit
    workers: int = 2  # finetuning runs at the same time, one core each


def main(args: list[str]) -> int:
    """Record, pretrain, fit, score, finetune (svm beside outcome), report. Returns 0 when every stage ran."""
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 0, 0)
    cfg = parse(DemoConfig, [*words, *options], usage=USAGE)
    if cfg.seeds < 1 or cfg.workers < 1 or cfg.seed < 0:
        raise ConfigError(f"seeds {cfg.seeds}, workers {cfg.workers}, seed {cfg.seed}: at least 1, 1 and 0")
    from svm_robot.scripts.demo_stages import run_demo

    prepare(cfg.out)
    run_demo(cfg)
    return 0


def prepare(out: Path) -> None:
    """An empty folder with the demo's marker in it. Refuses to touch anything a demo did not make."""
    if out.is_file():
        raise ConfigError(f"--out={out} is a file; name a folder")
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARKER).is_file():
            raise ConfigError(f"{out} exists and was not made by a demo; choose another --out")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).write_text("{}\n", encoding="utf-8")
