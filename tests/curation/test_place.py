"""How a dataset takes the place of another: a fault or a Ctrl-C at any moment costs neither, and what is told is so."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recordings import record_toy
from toys import ToySpec
from trees import tree_hash

from svm_robot.curation.rebuild import place
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.curation.rebuild.source import open_source
from svm_robot.data import load_dataset
from svm_robot.errors import DataError


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    record_toy(tmp_path / "demos", "sf", ToySpec(cameras={}), max_steps=3)
    return tmp_path / "demos"


def test_a_fault_while_the_names_change_leaves_everything_as_it_was(
    demos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, source = demos, open_source(demos)
    before = tree_hash(root)

    def fails(one: Path, other: Path) -> bool:
        raise PermissionError(errno.EPERM, "not allowed")

    monkeypatch.setattr(place, "exchange", fails)
    with pytest.raises(DataError, match=r"could not be built .*not allowed.*; nothing was changed"):
        rebuild(root, source.info, source.episodes[:1], [], source.provenance, replace=True)
    assert tree_hash(root) == before and [path.name for path in root.parent.iterdir()] == ["demos"]


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("done", [False, True])
def test_an_interruption_between_any_two_names_loses_neither_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool, done: bool
) -> None:
    """Before or after each step; then the old one has its name and the new one waits, or all is done."""
    steps, exchange = 1 if can_exchange else 4, place.exchange if can_exchange else lambda *_: False
    calls: list[str] = []

    def stopping(at: int, step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*names: Path) -> Any:
            calls.append(step.__name__)
            if len(calls) != at:
                return step(*names)
            if done:
                step(*names)
            raise KeyboardInterrupt

        return call

    for at in range(1, steps + 2):
        built, target, backup = (tmp_path / str(at) / name for name in (".d.rebuild", "d", "d.before-1"))
        for folder, what in ((built, "new"), (target, "old")):
            folder.mkdir(parents=True)
            (folder / what).touch()
        calls.clear()
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Path, "rename", stopping(at, Path.rename))
            patched.setattr(place, "exchange", stopping(at, exchange))
            place.swap(built, target, backup)
        found = {folder.name: next(folder.iterdir()).name for folder in (tmp_path / str(at)).iterdir()}
        finished = done and at == steps + 1
        assert found == ({"d": "new", "d.before-1": "old"} if finished else {"d": "old", ".d.rebuild": "new"}), at


def test_a_name_that_the_disk_does_not_confirm_is_not_called_unchanged(
    demos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, source = demos, open_source(demos)

    def fails(folder: Path) -> None:
        raise OSError(errno.EIO, "bad disk")

    monkeypatch.setattr(place, "sync", fails)
    with pytest.raises(
        DataError, match=r"is built, but .*bad disk.*what was there before is .*demos\.before-1"
    ) as told:
        rebuild(root, source.info, source.episodes[:1], [], source.provenance, replace=True)
    assert "nothing was changed" not in str(told.value) and len(load_dataset(root).episodes) == 1
