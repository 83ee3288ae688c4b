"""Whatever lies in a folder of a model, it loads or is refused in words of the one who asked for it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from svm_robot.data.model_folder import CONFIG, WEIGHTS, load_model
from svm_robot.errors import CheckpointError


class Settings:
    type = "ours"

    @classmethod
    def from_pretrained(cls, path: Path, cli_overrides: list[str]) -> Any:
        wrong = json.loads((path / CONFIG).read_text()).get("wrong")
        if wrong == "value":
            raise KeyError(wrong)
        assert cli_overrides == ["--device=cpu"]
        return SimpleNamespace(type="theirs") if wrong == "type" else cls()


class Model:
    name, config_class = "ours", Settings

    @classmethod
    def from_pretrained(cls, path: Path, config: Settings, strict: bool) -> "Model":
        assert strict
        print("Loading weights from local directory")
        return cls()


def folder(path: Path, config: str) -> Path:
    (path / CONFIG).write_text(config)
    (path / WEIGHTS).write_bytes(b"")
    return path


def load(path: Path) -> Any:
    return load_model(path, "cpu", "hat", "knit", Settings, Model)


def test_a_whole_folder_loads_without_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(load(folder(tmp_path, "{}")), Model)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ('{"wrong": "type"}', "holds a hat of type 'theirs', this tool reads 'ours'"),
        ('{"wrong": "value"}', "cannot be read as a hat"),
        ("{", "cannot be read as a hat"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, config: str, says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        load(folder(tmp_path, config))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no hat checkpoint at .*'svm-robot knit' writes one"):
        load(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"is no hat checkpoint: config\.json and model\.safetensors missing"):
        load(tmp_path)
    folder(tmp_path, "{}")
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(CheckpointError, match=r"is no hat checkpoint: model\.safetensors missing"):
        load(tmp_path)
