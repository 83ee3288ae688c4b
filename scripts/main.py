"""``svm-robot VERB ...``: find the verb, run it, turn what a user can mend into one line and an exit code."""

import difflib
import errno
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from svm_robot.errors import SvmRobotError
from svm_robot.version import __version__

VERBS: dict[str, str] = {
    "record": "record episodes on a rig and label each one",
    "label": "list the labels of a dataset, or change one",
    "data": "check, mend, cut, join and convert datasets",
    "pretrain": "clone the recorded actions into a flow policy",
    "evaluate": "success rate of a policy on a rig, with its interval",
    "fit-reward": "train the success/failure discriminator on labelled episodes",
    "score": "score every frame of a dataset and draw the scores into a video",
    "finetune": "finetune a policy on a rig from success and failure",
    "report": "write one HTML page about one or more runs",
    "demo": "the whole loop on the virtual robot",
    "virtual": "start the virtual robot on a serial port of its own",
    "find": "list serial ports or cameras, with their names for a rig file",
    "teleop": "move the robot by hand, without recording",
    "doctor": "look at ports, motors, cameras and disk of a rig; moves nothing",
}

EXTRAS = {"mujoco": "virtual", "accelerate": "training", "wandb": "training", "h5py": "hdf5"}
"""Packages that not everybody installs -> the extra that brings them."""

MENDABLE = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG),
)
"""What the system says of a disk, a permission or a path that a person can put right."""

WRONG_USE, INTERRUPTED, BROKEN_PIPE, TERMINATED = 2, 130, 141, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM, or SIGHUP: a terminal or SSH connection that went away must not leave an arm powered.

    A verb that finishes cleanly on Ctrl-C finishes just as cleanly on them.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console command. Returns the exit code; docs/commands.md lists them."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        code = dispatch(args)
        sys.stdout.flush()  # a closed pipe shows here, not in the interpreter's own farewell
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def dispatch(args: list[str]) -> int:
    """The first word decides."""
    if args[:1] == ["help"]:
        args = [*args[1:], "--help"]
    if not args or args[0] in ("-h", "--help"):
        print(usage())
        return 0
    if args[0] in ("-V", "--version"):
        print(f"svm-robot {__version__}")
        return 0
    verb = args[0].replace("_", "-")
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the verbs are: {', '.join(VERBS)}"
        return complain(f"svm-robot: unknown verb '{args[0]}'; {hint}", WRONG_USE)
    with terminated_like_ctrl_c() as was_terminated:
        code = run(verb, args[1:])
    return TERMINATED if was_terminated() else code


def run(verb: str, args: list[str]) -> int:
    """Run one verb; every failure a user can mend becomes one line."""
    name = f"svm-robot {verb}"
    try:
        module = importlib.import_module(f"svm_robot.scripts.{verb.replace('-', '_')}")
        return int(module.main(args))
    except SvmRobotError as error:
        return complain(f"{name}: {error}", error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        return complain(f"{name}: needs {package}: pip install 'svm-robot[{extra}]'", WRONG_USE)
    except OSError as error:
        if error.errno not in MENDABLE:
            raise
        return complain(f"{name}: {error.strerror}: {error.filename or 'while writing'}", 1)
    except Terminated:
        return complain(f"{name}: stopped by SIGTERM or a lost terminal", TERMINATED)
    except KeyboardInterrupt:
        return complain(f"{name}: stopped by Ctrl-C", INTERRUPTED)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)


def complain(line: str, code: int) -> int:
    with suppress(OSError):  # the terminal that was lost is the one this would be written to
        print(line, file=sys.stderr)
    return code


@contextmanager
def terminated_like_ctrl_c() -> Iterator[Callable[[], bool]]:
    """SIGTERM and SIGHUP raise ``Terminated`` in the main thread; yields a function that says whether one came.

    Once: a second one must not cut the cleanup short. An ignored SIGHUP (nohup) stays ignored.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            raise Terminated(f"stopped by {signal.Signals(number).name}")

    ours = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in ours}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def usage() -> str:
    """The first screen: every verb with one line."""
    width = max(map(len, VERBS))
    rows = "\n".join(f"  {verb:<{width}}  {what}" for verb, what in VERBS.items())
    return f"usage: svm-robot VERB ... [--option=value]\n\n{rows}\n\nsvm-robot VERB --help shows what a verb takes."


if __name__ == "__main__":
    sys.exit(main())
