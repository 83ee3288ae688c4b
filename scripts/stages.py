"""Running verbs one after the other or side by side, with the seconds each stage took."""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from svm_robot.errors import DataError, SvmRobotError
from svm_robot.scripts.main import main as svm_robot

POLL_S = 0.5
PATIENCE_S = 30.0
"""A finetuning run that is asked to stop still ends its episode and writes its checkpoint."""


def command(verb: str, *words: object, **options: object) -> list[str]:
    """The words of one command line: ``command("record", rig, judge=True)`` -> ``record RIG --judge=true``."""
    values = {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}
    return [verb, *map(str, words), *(f"--{name.replace('_', '-')}={value}" for name, value in values.items())]


class Stages:
    """Seconds per stage; a stage entered twice adds up."""

    def __init__(self, logs: Path, total: int) -> None:
        self.logs, self.total = logs, total
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Print a heading, run, keep the time."""
        number = list(self.seconds).index(name) + 1 if name in self.seconds else len(self.seconds) + 1
        print(f"\n[{number}/{self.total}] {name}", flush=True)
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - begun

    def verb(self, words: Sequence[str], echo: TextIO | None = None) -> None:
        """Run one verb in this process, showing the command as a person would type it."""
        print(f"$ svm-robot {' '.join(words)}", file=echo, flush=True)
        code = svm_robot(list(words))
        if code:
            raise SvmRobotError(f"'svm-robot {words[0]}' ended with exit code {code}; its own message stands above")

    def told(self, words: Sequence[str]) -> str:
        """Run one verb in this process and return what it printed."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            self.verb(words, sys.stderr)
        return printed.getvalue()

    def parallel(self, commands: Mapping[str, Sequence[str]], workers: int, runs: Sequence[Path], steps: int) -> None:
        """Run named verbs as processes of one torch thread each, ``workers`` at a time.

        ``runs``: their folders, whose journals feed one progress bar; each goes up to ``steps``. Children end with us.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        waiting, running = list(commands), dict[str, subprocess.Popen[bytes]]()
        bar = tqdm(total=len(runs) * steps, unit=" steps", dynamic_ncols=True)
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    name = waiting.pop(0)
                    tqdm.write(f"$ svm-robot {' '.join(commands[name])}")
                    running[name] = self._start(name, commands[name])
                time.sleep(POLL_S)
                bar.update(sum(min(steps, steps_done(run)) for run in runs) - bar.n)
                for name in [name for name, child in running.items() if child.poll() is not None]:
                    self._finished(name, running.pop(name).returncode)
        finally:
            bar.close()
            end_all(list(running.values()))

    def _start(self, name: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        with self._log(name, "out").open("wb") as out, self._log(name, "err").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, "-m", "svm_robot", *words], stdout=out, stderr=err, env=os.environ | threads
            )

    def _finished(self, name: str, code: int) -> None:
        if code:
            lines = self._log(name, "err").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise SvmRobotError(f"{name} ended with exit code {code}: {lines[-1] if lines else 'no message'}")

    def _log(self, name: str, stream: str) -> Path:
        return self.logs / f"{name}.{stream}.log"

    def write(self, path: Path) -> Path:
        """The seconds so far as JSON; returns ``path``."""
        path.write_text(json.dumps({name: round(s, 1) for name, s in self.seconds.items()}, indent=2) + "\n", "utf-8")
        return path

    def table(self) -> str:
        """Stage by stage, and the sum."""
        rows = [f"  {name:<34}{seconds:7.1f} s" for name, seconds in self.seconds.items()]
        return "\n".join([*rows, f"  {'together':<34}{sum(self.seconds.values()):7.1f} s"])


def end_all(children: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Ask each to finish cleanly, as Ctrl-C would; what does not within ``PATIENCE_S`` is killed."""
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def steps_done(run: Path) -> int:
    """Control steps a run's journal speaks of; 0 while there is none."""
    from svm_robot.data.journal import read_journal

    try:
        return max((int(event["env_steps"]) for event in read_journal(run, "episode")), default=0)
    except DataError:
        return 0
