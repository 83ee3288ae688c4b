"""``svm-robot demo``: all stages, much smaller, and nothing replaced that no demo made."""

import json
from pathlib import Path

import av
import pytest
from tiny_lab import call_half_of_them_successes, svm_robot, tiny_rig

from svm_robot.data import load_dataset
from svm_robot.rollout import Outcome
from svm_robot.scripts import demo_stages
from svm_robot.scripts.main import main

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
    one_seed=True,
)


@pytest.mark.slow
@pytest.mark.timeout(400)  # four of its stages are processes of their own, which a busy computer starts slowly
def test_the_demo_runs_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = demo_stages.Demo.roll_out

    def roll_out(demo: demo_stages.Demo) -> None:
        usual(demo)
        call_half_of_them_successes(demo.rollouts, TINY.rollouts)

    monkeypatch.setattr(demo_stages, "QUICK", TINY)
    monkeypatch.setattr(demo_stages.Demo, "roll_out", roll_out)
    out = tmp_path / "demo"
    said = svm_robot("demo", "--quick", f"--out={out}", f"--rig={tiny_rig(tmp_path)}")
    assert f"report:  {out / 'report.html'}" in said and "zero noise" in said
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    summary = json.loads((out / "summary.json").read_text())
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
