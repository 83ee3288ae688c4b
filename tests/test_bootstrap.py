"""``make setup`` with made-up interpreters and a made-up installer: nothing is downloaded."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1] / "tools"
REAL = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())

Result = subprocess.CompletedProcess[str]


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fake_python(path: Path, version: str, why: str = "ok") -> Path:
    """An interpreter that answers the probe of find_python.sh with a version and a verdict."""
    return script(path, f"printf '%s\\n' '{why}' '{version}' '{path}'")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a space in its name that holds what set-up reads."""
    root = tmp_path / "my checkout"
    (root / "tools").mkdir(parents=True)
    for name in ("find_python.sh", "bootstrap.sh", "environment.py"):
        shutil.copy(TOOLS / name, root / "tools" / name)
    (root / "requirements.lock").write_text(
        "# pins\nnumpy==2.0.0\n    # via x\nuv==1.2.3\nwin==1 ; sys_platform == 'x'\n"
    )
    (root / "setup.cfg").write_text("[metadata]\n")
    (root / "pyproject.toml").write_text("[build-system]\n")
    return root


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder for PATH that holds the few ordinary tools the scripts call."""
    folder = tmp_path / "bin folder"
    folder.mkdir()
    for tool in ("dirname", "rm", "sh", "sleep"):
        (folder / tool).symlink_to(shutil.which(tool) or tool)
    return folder


def find(checkout: Path, path: str, **env: str) -> Result:
    full = {"PATH": path, "HOME": str(checkout), **env}
    command = ["/bin/sh", str(checkout / "tools" / "find_python.sh")]
    return subprocess.run(command, env=full, capture_output=True, text=True, check=False, timeout=30)


def test_an_old_python_hides_no_newer_one(checkout: Path, bin_folder: Path, tmp_path: Path) -> None:
    fake_python(bin_folder / "python3", "3.11.2", "too old")
    newer = fake_python(tmp_path / "later" / "python3", "3.13.1")
    result = find(checkout, f"{bin_folder}:{tmp_path / 'later'}")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{newer}\n", "")


def test_the_version_the_lock_is_tested_on_comes_first(checkout: Path, bin_folder: Path) -> None:
    for name in ("python3", "python3.14", "python3.13", "python3.12"):
        fake_python(bin_folder / name, f"{name[6:]}.0")
    assert find(checkout, str(bin_folder)).stdout.strip().endswith("python3.12")


def test_a_shim_that_does_not_run_is_passed_over(checkout: Path, bin_folder: Path) -> None:
    script(bin_folder / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    works = fake_python(bin_folder / "python3.13", "3.13.0")
    assert find(checkout, str(bin_folder)).stdout == f"{works}\n"


@pytest.mark.parametrize("by_command", [True, False])
def test_pyenv_versions_are_found_behind_its_shims(by_command: bool, checkout: Path, bin_folder: Path) -> None:
    script(bin_folder / "python3", "exit 127")
    home = checkout / ("elsewhere" if by_command else ".pyenv")
    if by_command:
        script(bin_folder / "pyenv", f"echo '{home}'")
    fake_python(home / "versions" / "3.11.9" / "bin" / "python", "3.11.9", "too old")
    works = fake_python(home / "versions" / "3.12.4" / "bin" / "python", "3.12.4")
    assert find(checkout, str(bin_folder)).stdout == f"{works}\n"


def test_uv_is_asked_last(checkout: Path, bin_folder: Path, tmp_path: Path) -> None:
    works = fake_python(tmp_path / "managed" / "python", "3.12.9")
    script(bin_folder / "uv", f'[ "$1 $2" = "python find" ] && echo "{works}"')
    assert find(checkout, str(bin_folder)).stdout == f"{works}\n"


def test_nothing_found_says_what_was_tried_and_what_to_do(checkout: Path, bin_folder: Path) -> None:
    fake_python(bin_folder / "python3", "3.11.2", "too old")
    fake_python(bin_folder / "python3.12", "3.12.3", "without venv; on Debian: apt install python3.12-venv")
    script(bin_folder / "python", "exit 127")
    result = find(checkout, str(bin_folder))
    assert result.returncode == 1 and result.stdout == ""
    for part in (
        "needs Python 3.12 or newer",
        f"{bin_folder}/python3: 3.11.2, too old",
        "apt install python3.12-venv",
        f"{bin_folder}/python: does not run",
        "make setup PYTHON=",
    ):
        assert part in result.stderr


def test_an_empty_path_is_said_to_be_empty(checkout: Path, bin_folder: Path) -> None:
    assert "nothing: no python, pyenv or uv on PATH" in find(checkout, str(bin_folder)).stderr


def test_a_named_interpreter_is_used_or_refused_never_replaced(checkout: Path, bin_folder: Path) -> None:
    good = fake_python(bin_folder / "python3.12", "3.12.0")
    own = fake_python(bin_folder / "mine", "3.13.0")
    old = fake_python(bin_folder / "old", "3.9.1", "too old")
    assert find(checkout, str(bin_folder), PYTHON=str(own)).stdout == f"{own}\n"
    refused = find(checkout, str(bin_folder), PYTHON=str(old))
    assert refused.returncode == 1 and str(good) not in refused.stdout
    assert f"PYTHON={old} is none" in refused.stderr and "3.9.1, too old" in refused.stderr


def test_a_real_interpreter_passes_the_probe_and_stands_for_what_is_behind_its_environment(checkout: Path) -> None:
    result = find(checkout, "/usr/bin:/bin", PYTHON=sys.executable)
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).resolve() == Path(REAL)


@pytest.fixture
def fake_uv(bin_folder: Path, tmp_path: Path) -> Path:
    """An installer that makes a bare environment and writes down what it was called with. Returns that diary."""
    diary = tmp_path / "uv calls"
    body = f"""
    printf '%s\\n' "$1 $2" >> '{diary}'
    case "$1" in
    venv) for place; do :; done; exec '{REAL}' -m venv --without-pip "$place" ;;
    esac
    [ -f '{tmp_path}/slow' ] && sleep 30
    [ -f '{tmp_path}/fails' ] && {{ echo 'no space left on device'; exit 2; }}
    exit 0
    """
    script(bin_folder / "uv", body)
    return diary


def environment(checkout: Path, bin_folder: Path) -> dict[str, str]:
    return {"PATH": str(bin_folder), "HOME": str(checkout), "PYTHON": ""}


def set_up(checkout: Path, bin_folder: Path) -> Result:
    python = bin_folder / "python3.12"
    if not python.exists():
        script(python, f"exec '{REAL}' \"$@\"")
    command = ["/bin/sh", str(checkout / "tools" / "bootstrap.sh")]
    env = environment(checkout, bin_folder)
    return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, check=False, timeout=60)


def calls(diary: Path) -> list[str]:
    found = [line.strip() for line in diary.read_text().splitlines()] if diary.exists() else []
    diary.unlink(missing_ok=True)
    return [line.split(" ")[0] if line.startswith("venv") else line for line in found]


FRESH = ["venv", "pip sync", "pip install"]


def test_first_call_builds_second_call_is_silent_and_quick(checkout: Path, bin_folder: Path, fake_uv: Path) -> None:
    first = set_up(checkout, bin_folder)
    assert first.returncode == 0, first.stderr
    assert calls(fake_uv) == FRESH
    assert "3 packages of requirements.lock" in first.stdout
    assert all(line.startswith("setup: ") for line in first.stdout.splitlines())
    begin = time.monotonic()
    second = set_up(checkout, bin_folder)
    assert (second.returncode, second.stdout, second.stderr, calls(fake_uv)) == (0, "", "", [])
    assert time.monotonic() - begin < 3  # .1 s on an idle machine


@pytest.mark.parametrize("name", ["requirements.lock", "setup.cfg", "pyproject.toml"])
def test_a_changed_file_brings_the_same_environment_up_to_date(
    name: str, checkout: Path, bin_folder: Path, fake_uv: Path
) -> None:
    set_up(checkout, bin_folder)
    calls(fake_uv)
    keepsake = checkout / ".venv" / "keepsake"
    keepsake.touch()
    with (checkout / name).open("a") as file:
        file.write("# changed\n")
    assert set_up(checkout, bin_folder).returncode == 0
    assert calls(fake_uv) == FRESH[1:] and keepsake.exists()


def test_a_moved_folder_is_built_anew(checkout: Path, bin_folder: Path, fake_uv: Path) -> None:
    set_up(checkout, bin_folder)
    calls(fake_uv)
    moved = checkout.rename(checkout.with_name("another name"))
    result = set_up(moved, bin_folder)
    assert result.returncode == 0 and "moved .venv removed" in result.stdout
    assert calls(fake_uv) == FRESH
    assert not list(moved.glob(".venv.old-*"))


@pytest.mark.parametrize("damage", ["dead link", "file", "empty folder", "stamp of another version"])
def test_a_broken_environment_is_repaired(damage: str, checkout: Path, bin_folder: Path, fake_uv: Path) -> None:
    set_up(checkout, bin_folder)
    calls(fake_uv)
    venv = checkout / ".venv"
    if damage == "dead link":
        (venv / "bin" / "python").unlink()
        (venv / "bin" / "python").symlink_to("/nowhere/python")
    elif damage == "stamp of another version":
        (venv / "svm-robot.stamp.json").write_text('{"format": 2}')
    else:
        shutil.rmtree(venv)
        venv.touch() if damage == "file" else venv.mkdir()
    assert set_up(checkout, bin_folder).returncode == 0
    assert calls(fake_uv) == (FRESH[1:] if damage == "stamp of another version" else FRESH)
    assert set_up(checkout, bin_folder).stdout == ""


def test_a_failed_step_shows_the_end_of_its_log_and_is_repaired_later(
    checkout: Path, bin_folder: Path, fake_uv: Path, tmp_path: Path
) -> None:
    (tmp_path / "fails").touch()
    failed = set_up(checkout, bin_folder)
    assert failed.returncode == 1
    assert "failed (exit code 2)" in failed.stderr and "no space left on device" in failed.stderr
    assert "call make again" in failed.stderr and "Traceback" not in failed.stderr
    (tmp_path / "fails").unlink()
    assert set_up(checkout, bin_folder).returncode == 0
    assert set_up(checkout, bin_folder).stdout == ""


def start(checkout: Path, bin_folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [REAL, "-I", str(checkout / "tools" / "environment.py")],
        env=environment(checkout, bin_folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_call(diary: Path, call: str) -> None:
    deadline = time.monotonic() + 30
    while call not in (diary.read_text() if diary.exists() else ""):
        assert time.monotonic() < deadline, f"never called: {call}"
        time.sleep(0.02)


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_installation_is_built_anew(
    with_signal: signal.Signals, checkout: Path, bin_folder: Path, fake_uv: Path, tmp_path: Path
) -> None:
    (tmp_path / "slow").touch()
    with start(checkout, bin_folder) as process:
        wait_for_call(fake_uv, "pip sync")
        os.killpg(process.pid, with_signal)
        _, errors = process.communicate(timeout=30)
    if with_signal == signal.SIGINT:
        assert process.returncode == 130 and "stopped; call make again" in errors
    (tmp_path / "slow").unlink()
    calls(fake_uv)
    assert set_up(checkout, bin_folder).returncode == 0
    assert calls(fake_uv) == FRESH
    assert set_up(checkout, bin_folder).stdout == ""


def test_two_calls_at_once_build_once(checkout: Path, bin_folder: Path, fake_uv: Path) -> None:
    with start(checkout, bin_folder) as first, start(checkout, bin_folder) as second:
        outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert calls(fake_uv) == FRESH
    assert sum("waiting for it" in output for output in outputs) == 1


def test_a_foreign_environment_that_works_is_kept(checkout: Path, bin_folder: Path, fake_uv: Path) -> None:
    subprocess.run([REAL, "-m", "venv", "--without-pip", str(checkout / ".venv")], check=True, timeout=60)
    (checkout / ".venv" / "mine").touch()
    assert set_up(checkout, bin_folder).returncode == 0
    assert calls(fake_uv) == FRESH[1:] and (checkout / ".venv" / "mine").exists()


def test_make_help_names_every_target() -> None:
    root = TOOLS.parent
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    targets = next(line for line in makefile.splitlines() if line.startswith(".PHONY:")).split()[1:]
    printed = subprocess.run(["make", "-C", str(root), "help"], capture_output=True, text=True, check=True).stdout
    assert [target for target in targets if f"make {target} " not in printed] == ["help"]
