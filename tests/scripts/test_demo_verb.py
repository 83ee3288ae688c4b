"""``svm-robot demo``: all stages, much smaller, and nothing replaced that no demo made."""

import json
from pathlib import Path

import av
import pytest
from tiny_lab import call_half_of_them_successes, svm_robot, tiny_rig

from svm_robot.data import load_dataset
from svm_robot.rollout import Outcome
from svm_robot.scripts import demo_stages
from svm_robot.scripts.demo import MARKER, own_folder
from svm_robot.scripts.main import main

REAL_RIG = Path(__file__).resolve().parents[2] / "rigs" / "so101.yaml"
TINY = demo_stages.Plan(
    demos=4,
    attempts=1,
    clone_steps=20,
    check_episodes=2,
    rollouts=20,
    rollout_rounds=1,
    finetune_steps=240,
    eval_every=1000,
    eval_episodes=2,
    baseline_episodes=2,
    final_episodes=2,
    seeds=1,
)


@pytest.mark.slow
@pytest.mark.timeout(400)  # four of its stages are processes of their own, which a busy computer starts slowly
def test_the_demo_runs_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = demo_stages.Demo.roll_out

    def roll_out(demo: demo_stages.Demo) -> None:
        usual(demo)
        call_half_of_them_successes(demo.rollouts, TINY.rollouts)

    monkeypatch.setattr(demo_stages, "QUICK", TINY)
    monkeypatch.setattr(demo_stages.Demo, "roll_out", roll_out)
    out = tmp_path / "demo"
    said = svm_robot("demo", "--quick", "--json", f"--out={out}", f"--rig={tiny_rig(tmp_path)}")
    told = capsys.readouterr().err
    assert f"report:  {out / 'report.html'}" in told and "zero noise" in told
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    assert said == (out / "summary.json").read_text()
    summary = json.loads(said)
    for name, episodes in {"base": 2, "zero_noise": 2, "svm": 2, "outcome": 2}.items():
        assert summary[name]["episodes"] == episodes
        assert 0 <= summary[name]["low"] <= summary[name]["rate"] <= summary[name]["high"] <= 1
    assert summary["env_steps"] == {"svm-0": 240, "outcome-0": 240}
    assert summary["robot_minutes"]["svm-0"] == pytest.approx(240 / 10 / 60)
    assert {"record demonstrations", "fit the reward", "finetune svm-0"} <= set(summary["seconds_by_stage"])
    assert summary["not_comparable"] == []
    with av.open(str(out / "scores" / "scores.mp4")) as video:
        assert next(video.decode(video=0)).width > 0
    assert {episode.outcome for episode in load_dataset(out / "rollouts", frames=False).episodes} == {
        Outcome.SUCCESS,
        Outcome.FAILURE,
    }


def test_the_demo_replaces_only_what_a_demo_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for out in (tmp_path, tmp_path / "mine.txt"):
        assert main(["demo", "--quick", f"--out={out}"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("mine.txt", "mine")]


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["demo", "--quick", *options]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_a_demo_that_still_runs_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    with own_folder(out):
        (out / "policy").mkdir()
        assert "another demo is running" in refused(capsys, f"--out={out}")
        assert (out / "policy").is_dir()
    with own_folder(out):
        assert [path.name for path in out.iterdir()] == [MARKER]


@pytest.mark.parametrize("wrong", ["--rig=nowhere.yaml", f"--rig={REAL_RIG}", "--seeds=0", "--seed=-1", "--workers=0"])
def test_a_refused_demo_leaves_the_older_one(wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with own_folder(tmp_path):
        (tmp_path / "report.html").write_text("older")
    refused(capsys, f"--out={tmp_path}", wrong)
    assert (tmp_path / "report.html").read_text() == "older"
