"""What every test runs under: no hub, headless rendering, one thread, and nothing left behind."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("MPLBACKEND", "agg")
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import pytest  # noqa: E402  (the environment must be set before anything else is imported)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """A test that leaks a thread (not a daemon of a library's pool) or a child process fails."""
    before = set(threading.enumerate())
    children = child_processes()
    yield
    leaked = [t.name for t in threading.enumerate() if t not in before and t.is_alive() and not t.daemon]
    assert not leaked, f"threads still running: {leaked}"
    orphans = child_processes() - children
    assert not orphans, f"child processes still running: {sorted(orphans)}"


def child_processes() -> set[str]:
    """Process ids of this process's children (Linux; empty elsewhere)."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(path.read_text().split()) if path.exists() else set()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real recordings of others: beside the checkout, or where SVM_ROBOT_SHARED_DATA says; skipped where absent."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SVM_ROBOT_SHARED_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no real recordings at {folder}")
    return folder
