"""The console command: verbs, exit codes, and one line for everything a user can mend."""

import errno
import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable

import pytest

from svm_robot.errors import ConfigError, DataError, DeviceError
from svm_robot.scripts import main as console

Fake = Callable[[Callable[[list[str]], int]], None]


@pytest.fixture
def fake_verb(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Put a function in place of the verb ``label``."""

    def install(body: Callable[[list[str]], int]) -> None:
        module = types.ModuleType("svm_robot.scripts.label")
        module.main = body  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "svm_robot.scripts.label", module)

    return install


def raising(error: BaseException) -> Callable[[list[str]], int]:
    def body(args: list[str]) -> int:
        raise error

    return body


@pytest.mark.parametrize("args", [[], ["-h"], ["--help"], ["help"]])
def test_help_lists_every_verb_of_the_table(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert console.main(args) == 0
    printed = capsys.readouterr().out
    assert all(f"  {verb} " in printed and what in printed for verb, what in console.VERBS.items())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert console.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("svm-robot 0.")


@pytest.mark.parametrize(
    ("word", "answer"),
    [("recrod", "did you mean 'record'?"), ("fitreward", "'fit-reward'"), ("xyz", "the verbs are: ")],
)
def test_unknown_verb_is_one_line_with_the_nearest(word: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert console.main([word]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert word in printed.err and answer in printed.err


def test_words_and_exit_code_pass_through(fake_verb: Fake) -> None:
    seen: list[list[str]] = []
    fake_verb(lambda args: seen.append(args) or 7)  # type: ignore[func-returns-value]
    assert console.main(["label", "a", "--b=c"]) == 7
    assert seen == [["a", "--b=c"]]


def test_help_verb_asks_the_verb(fake_verb: Fake) -> None:
    seen: list[list[str]] = []
    fake_verb(lambda args: seen.append(args) or 0)  # type: ignore[func-returns-value]
    assert console.main(["help", "label"]) == 0
    assert seen == [["--help"]]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("no such field"), 2, "svm-robot label: no such field"),
        (DataError("torn"), 3, "svm-robot label: torn"),
        (DeviceError("port gone"), 5, "svm-robot label: port gone"),
        (KeyboardInterrupt(), 130, "svm-robot label: stopped by Ctrl-C"),
        (ModuleNotFoundError("No module", name="mujoco.viewer"), 2, "pip install 'svm-robot[virtual]'"),
        (OSError(errno.ENOSPC, "No space left on device", "/tmp/x"), 1, "No space left on device: /tmp/x"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "file/x"), 1, "Not a directory: file/x"),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    error: BaseException, code: int, line: str, fake_verb: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_verb(raising(error))
    assert console.main(["label"]) == code
    printed = capsys.readouterr().err
    assert line in printed and printed.count("\n") == 1


@pytest.mark.parametrize("error", [RuntimeError("a bug"), ModuleNotFoundError("x", name="numpyy"), OSError(5, "io")])
def test_a_bug_keeps_its_traceback(error: Exception, fake_verb: Fake) -> None:
    fake_verb(raising(error))
    with pytest.raises(type(error)):
        console.main(["label"])


@pytest.mark.parametrize(("stop", "code"), [(0, 0), (None, 0), (3, 3), ("text", 1)])
def test_a_verb_that_exits_gives_its_code(stop: object, code: int, fake_verb: Fake) -> None:
    fake_verb(raising(SystemExit(stop)))
    assert console.main(["label"]) == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_runs_the_whole_cleanup_and_exits_with_143(number: signal.Signals, fake_verb: Fake) -> None:
    done: list[str] = []

    def body(args: list[str]) -> int:
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), number)  # somebody is impatient
            time.sleep(0.01)
            done.append("cleaned up")
        return 0

    before = signal.getsignal(number)
    fake_verb(body)
    assert console.main(["label"]) == 143
    assert done == ["cleaned up"]
    assert signal.getsignal(number) is before


def test_sigterm_is_reported_also_by_a_verb_that_handles_ctrl_c_itself(fake_verb: Fake) -> None:
    def body(args: list[str]) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except KeyboardInterrupt:
            return 130
        return 0

    fake_verb(body)
    assert console.main(["label"]) == 143


def test_a_closed_pipe_is_no_traceback() -> None:
    shell = '{ "$0" -m svm_robot --help; echo "code $?" >&2; } | (exec 0<&-; sleep 0.1)'
    done = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False, timeout=30)
    assert done.stderr.strip() == "code 141"


def test_python_dash_m_starts_quickly_and_without_torch() -> None:
    begin = time.monotonic()
    command = [sys.executable, "-X", "importtime", "-m", "svm_robot", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert time.monotonic() - begin < 5  # .1 s on an idle machine; the imports below are the real check
    assert "svm-robot VERB" in done.stdout
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert not loaded & {"torch", "lerobot", "numpy", "draccus", "mujoco"}
