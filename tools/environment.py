"""Make ``.venv`` what ``requirements.lock`` says, and nothing when it already is.

Run by ``tools/bootstrap.sh`` with the interpreter that the environment is to have; standard library only.
A stamp is written last. What an interrupted installation left behind carries a mark and is built anew.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

INPUTS = ("requirements.lock", "setup.cfg", "pyproject.toml", "tools/environment.py")
LOG_LINES = 15


class SetupError(Exception):
    """A step failed; the message says what to do."""


@dataclass(frozen=True)
class Stamp:
    """What an environment was made from, and where: it works in no other folder."""

    root: str
    python: str
    version: str
    inputs: str


@dataclass(frozen=True)
class Place:
    """The files of one checkout's environment."""

    root: Path

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def stamp(self) -> Path:
        return self.venv / "svm-robot.stamp.json"

    @property
    def mark(self) -> Path:
        return self.venv / "installing"

    @property
    def lock(self) -> Path:
        return self.root / ".venv.lock"

    @property
    def log(self) -> Path:
        return self.venv / "setup.log"


def wanted(place: Place) -> Stamp:
    """The stamp of an environment that is up to date, made by this interpreter (or the one behind it)."""
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update((place.root / name).read_bytes() + b"\0")
    base = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
    return Stamp(str(place.root), base, sys.version, digest.hexdigest())


def is_ready(place: Place) -> bool:
    """True when the environment was finished here, by this interpreter, from today's files."""
    try:
        found = Stamp(**json.loads(place.stamp.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return False
    return found == wanted(place) and os.access(place.python, os.X_OK) and not place.mark.exists()


def is_usable(place: Place) -> bool:
    """True when what is there can be brought up to date: not interrupted, not moved, same interpreter."""
    if place.mark.exists() or not (place.venv / "bin" / "activate").is_file() or not os.access(place.python, os.X_OK):
        return False
    activate = (place.venv / "bin" / "activate").read_text(encoding="utf-8", errors="replace")
    if not any(f"{quote}{place.venv}" in activate for quote in ("=", "'", '"')):
        return False
    script = "import sys; print(sys._base_executable); print(sys.version)"
    answer = subprocess.run([place.python, "-I", "-c", script], capture_output=True, text=True, check=False)
    base, _, version = answer.stdout.strip().partition("\n")
    want = wanted(place)
    return answer.returncode == 0 and str(Path(base).resolve()) == want.python and version == want.version


@contextmanager
def alone(place: Place) -> Iterator[None]:
    """Hold the checkout's lock; the kernel lets go of it when this process dies."""
    with place.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another make is setting up this folder; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(place: Place) -> None:
    """Create the environment if need be, install the lock and the project, stamp it."""
    say(f"Python {sys.version.split()[0]} ({wanted(place).python})")
    if not is_usable(place):
        create(place)
    place.mark.touch()
    install(place)
    place.mark.unlink()
    fresh = place.stamp.with_suffix(".tmp")
    fresh.write_text(json.dumps(wanted(place).__dict__), encoding="utf-8")
    fresh.replace(place.stamp)


def create(place: Place) -> None:
    """A new, empty environment in place of whatever lies there."""
    if place.venv.is_symlink() or place.venv.is_file():
        place.venv.unlink()
    elif place.venv.exists():
        old = place.root / f".venv.old-{os.getpid()}"
        place.venv.rename(old)
        step(place, "unfinished or moved .venv removed", ["rm", "-rf", str(old)])
    place.venv.mkdir()
    place.mark.touch()
    uv = shutil.which("uv")
    command = [uv, "venv", "--allow-existing", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
    step(place, "new environment .venv", [*command, str(place.venv)])


def install(place: Place) -> None:
    """Bring the packages to exactly what the lock says, then the project itself in place (editable)."""
    lock = (place.root / "requirements.lock").read_text(encoding="utf-8")
    pins = [line.split(";")[0].strip() for line in lock.splitlines() if line[:1].isalnum()]
    target = ["--python", str(place.python)]
    itself = ["--no-deps", "--no-build-isolation", "--editable", str(place.root)]
    uv = find_uv(place, next(pin for pin in pins if pin.startswith("uv==")))
    what = f"{len(pins)} packages of requirements.lock (several GB the first time)"
    if uv is not None:
        step(place, what, [uv, "pip", "sync", *target, "requirements.lock"])
        step(place, "svm-robot itself", [uv, "pip", "install", *target, *itself])
        return
    pip = [str(place.python), "-m", "pip", "install"]
    step(place, what, [*pip, "-r", "requirements.lock"])
    step(place, "svm-robot itself", [*pip, *itself])


def find_uv(place: Place, pin: str) -> str | None:
    """The environment's own uv, one on PATH, or the locked one fetched by pip; None where it cannot be had."""
    own = place.venv / "bin" / "uv"
    on_path = shutil.which("uv")
    if own.is_file() or on_path:
        return str(own) if own.is_file() else on_path
    try:
        step(place, "uv, the installer", [str(place.python), "-m", "pip", "install", pin])
    except SetupError:
        say("uv cannot be had; pip does it, which takes longer")
        return None
    return str(own)


def step(place: Place, what: str, command: Sequence[str]) -> None:
    """Run one command quietly, with one line and the seconds it took. Raises ``SetupError`` with the end of its log."""
    begin = time.monotonic()
    sink = place.log if place.venv.is_dir() else Path(os.devnull)
    with sink.open("ab") as log:
        process = subprocess.Popen(command, cwd=place.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while (code := ended(process)) is None:
            show(f"setup: {what} ... {time.monotonic() - begin:.0f} s")
    show("")
    if code != 0:
        raise SetupError(f"{what}: failed (exit code {code})" + end_of(place.log))
    say(f"{what}: {time.monotonic() - begin:.0f} s")


def ended(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code, or None after a second of waiting."""
    try:
        return process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return None


def show(text: str) -> None:
    """A line that the next one overwrites; only for a person at a terminal."""
    if sys.stdout.isatty():
        print(f"\r\033[K{text}", end="", flush=True)


def end_of(log: Path) -> str:
    if not log.is_file():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
    return "\n  ".join([f"; the end of {log}:", *lines])


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def main(args: Sequence[str], root: Path) -> int:
    """``--check``: 0 when ready, 1 when not. Without: make it ready."""
    place = Place(root)
    if "--check" in args:
        return 0 if is_ready(place) else 1
    try:
        with alone(place):
            if not is_ready(place):
                build(place)
        return 0
    except SetupError as error:
        print(f"setup: {error}\nsetup: call make again to go on; downloads are kept", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nsetup: stopped; call make again to go on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[1]))
