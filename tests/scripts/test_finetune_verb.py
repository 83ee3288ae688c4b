"""What ``svm-robot finetune`` refuses, before it moves or writes anything."""

from pathlib import Path

import pytest

from svm_robot.scripts.main import main

RIG = str(Path(__file__).resolve().parents[2] / "rigs" / "virtual_so101.yaml")


def refused(capsys: pytest.CaptureFixture[str], code: int, *options: str) -> str:
    assert main(["finetune", RIG, *options]) == code
    lines = capsys.readouterr().err.strip().splitlines()
    assert len([line for line in lines if line.startswith("svm-robot finetune: ")]) == 1
    assert "Traceback" not in "".join(lines)
    return lines[-1]


def test_an_existing_run_needs_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    line = refused(capsys, 2, "--policy=p", "--reward=r", f"--run={tmp_path / 'run'}")
    assert "--resume" in line
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_missing_and_wrong_options_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = f"--run={tmp_path / 'run'}"
    assert "policy" in refused(capsys, 2, "--reward=r", run)
    assert "magic" in refused(capsys, 2, "--policy=p", "--reward=r", run, "--shaping=magic")
    assert "steps" in refused(capsys, 2, "--policy=p", "--reward=r", run, "--steps=0")
    assert "no policy checkpoint" in refused(capsys, 4, f"--policy={tmp_path / 'none'}", "--reward=r", run)
    assert not (tmp_path / "run").exists()


def test_help_lists_the_learners_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["finetune", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for option in ("--shaping", "--steps", "--lam", "--sac.gamma", "--offline", "--resume", "--rate_hz"):
        assert option in text
    assert "success alone" in text  # the comments beside the fields
