"""Every verb once, one after the other, on the virtual robot in lockstep: as a person would, only much smaller."""

import csv
import json
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from tiny_lab import call_half_of_them_successes, child_of_ours, svm_robot, tiny_rig

from svm_robot.data import EpisodeData, load_dataset
from svm_robot.data.journal import read_journal
from svm_robot.data.labels import LabelLog
from svm_robot.data.staleness import OFFLINE
from svm_robot.errors import DataError
from svm_robot.learner.checkpoint import checkpoints, load_state
from svm_robot.learner.pilot import has_pilot
from svm_robot.policies.checkpoint import load_flow
from svm_robot.report.runs import FINISHED, read_run
from svm_robot.reward.checkpoint import load_reward
from svm_robot.scripts.main import main
from svm_robot.vision.encoder import fingerprint

STEPS = 10
"""Control steps of every episode: none of them succeeds, so each one runs into its time limit."""
SMALL = ["--warmup-episodes=8", "--first-updates=10", "--updates-per-decision=1", "--batch=16", "--fit-batch=16"]
SMALL += ["--fit-steps=2", "--eval-every=100", "--eval-episodes=2", "--baseline-episodes=2", "--final-episodes=2"]


@dataclass(frozen=True)
class Made:
    """What a verb left behind, and what it printed."""

    path: Path
    said: str


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("every verb")


@pytest.fixture(scope="module")
def rig(lab: Path) -> Path:
    return tiny_rig(lab)


@pytest.fixture(scope="module")
def demos(lab: Path, rig: Path) -> Made:
    path = lab / "demos"
    return Made(path, svm_robot("record", rig, "--episodes=8", "--judge", f"--dataset={path}"))


@pytest.fixture(scope="module")
def policy(lab: Path, demos: Made) -> Made:
    path = lab / "policy"
    return Made(path, svm_robot("pretrain", demos.path, f"--out={path}", "--steps=20", "--threads=1"))


@pytest.fixture(scope="module")
def rollouts(lab: Path, rig: Path, policy: Made) -> Made:
    path = lab / "rollouts"
    acting = ["--control=policy", f"--policy={policy.path}", "--noise=sampled", "--judge"]
    said = svm_robot("record", rig, "--episodes=8", f"--dataset={path}", *acting)
    call_half_of_them_successes(path, 8)
    return Made(path, said)


@pytest.fixture(scope="module")
def reward(lab: Path, policy: Made, rollouts: Made) -> Made:
    path = lab / "reward"
    options = [f"--policy={policy.path}", "--action=noise", "--steps=30", "--json"]
    return Made(path, svm_robot("fit-reward", rollouts.path, f"--out={path}", *options))


@pytest.fixture(scope="module")
def finetune(rig: Path, policy: Made, rollouts: Made, reward: Made) -> list[str]:
    """The words of a small finetuning run, all but where it goes and how long it takes."""
    parts = [f"--policy={policy.path}", f"--reward={reward.path}", f"--offline={rollouts.path}"]
    return ["finetune", str(rig), *parts, "--judge", *SMALL]


@pytest.fixture(scope="module")
def svm(lab: Path, finetune: list[str]) -> Made:
    return Made(lab / "svm", svm_robot(*finetune, f"--run={lab / 'svm'}", "--steps=200"))


def test_record_leaves_labelled_episodes_of_pictures_and_joints(demos: Made) -> None:
    assert "recorded 8 of 8 episodes (8 failure)" in demos.said
    dataset = load_dataset(demos.path)
    assert [len(episode) for episode in dataset.episodes] == [STEPS] * 8
    assert dataset.cameras == {"front": (32, 32), "wrist": (32, 32)}
    first, second = dataset.episodes[:2]
    assert first.latent is None
    assert first.frames["front"].std() > 5 and np.any(first.frames["front"] != second.frames["front"])
    assert np.abs(first.state[-1] - first.state[0]).max() > 1  # it moved


def test_label_lists_changes_and_remembers(demos: Made) -> None:
    assert "8 episodes: 8 failure" in svm_robot("label", demos.path)
    change = ["--episode=2", "--set=unsure", "--by=ada", "--reason=out of sight"]
    assert svm_robot("label", demos.path, *change) == "episode 2: failure -> unsure\n"
    assert "8 episodes: 7 failure, 1 unsure" in svm_robot("label", demos.path)
    history = svm_robot("label", demos.path, "history", "--episode=2").splitlines()
    assert ["by judge" in history[0], "by ada" in history[1], len(history)] == [True, True, 2]
    svm_robot("label", demos.path, "--episode=2", "--set=failure")


def test_pretrain_leaves_a_policy_of_this_robot(policy: Made, demos: Made) -> None:
    assert "nats per chunk" in policy.said
    config = load_flow(policy.path).config
    assert config.robot_type == "virtual_so101" and config.rate_hz == 10
    notes = json.loads((policy.path / "pretrain.json").read_text())
    assert (notes["steps"], notes["train_episodes"] + notes["held_out_episodes"]) == (20, 8)
    assert np.isfinite(notes["nll_nats"])


@pytest.mark.parametrize("noise", ["sampled", "zero"])
def test_evaluate_counts_fresh_episodes(noise: str, rig: Path, policy: Made) -> None:
    options = ["--episodes=3", "--judge", "--json", f"--noise={noise}"]
    figures = json.loads(svm_robot("evaluate", rig, f"--policy={policy.path}", *options))
    assert (figures["noise"], figures["episodes"], figures["mean_steps"]) == (noise, 3, STEPS)
    assert figures["interval"][0] <= figures["rate"] <= figures["interval"][1] < 1
    assert 0 < figures["act_ms"]["p50"] <= figures["act_ms"]["p95"]


def test_a_policy_s_recording_keeps_the_noise_behind_each_chunk(rollouts: Made, policy: Made) -> None:
    assert "recorded 8 of 8" in rollouts.said
    config = load_flow(policy.path).config
    episodes = load_dataset(rollouts.path, frames=False).episodes
    for episode in episodes:
        noise = noise_of(episode)
        assert noise.shape == (STEPS, config.latent_dim)
        assert np.flatnonzero(episode.decision).tolist() == list(range(0, STEPS, config.chunk_size))
        assert np.all(noise[1] == noise[0]) and np.any(noise[config.chunk_size] != noise[0])
    assert [str(episode.outcome) for episode in episodes] == ["success", "failure"] * 4
    assert [label.by for label in LabelLog(rollouts.path).entries()] == ["judge"] * 8 + ["ada"] * 4


def noise_of(episode: EpisodeData) -> Any:
    assert episode.latent is not None
    return episode.latent


def test_fit_reward_shares_the_policy_s_encoder(reward: Made, policy: Made, rollouts: Made) -> None:
    figures = json.loads(reward.said)
    assert figures["action"] == "noise"
    value, low, high = figures["auc_decision"]
    assert 0 <= low <= value <= high <= 1
    config, flow = load_reward(reward.path).config, load_flow(policy.path)
    assert config.encoder_fingerprint == fingerprint(flow.encoder)
    assert (config.latent_dim, config.chunk) == (flow.config.latent_dim, flow.config.chunk_size)
    assert (config.dataset, config.label_hash) == ("rollouts", LabelLog(rollouts.path).snapshot_hash())


def test_score_writes_a_row_for_each_frame_and_a_video(lab: Path, reward: Made, rollouts: Made) -> None:
    out = lab / "scores"
    svm_robot("score", reward.path, rollouts.path, f"--out={out}", "--video", "--video-episodes=2")
    with (out / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 * STEPS
    assert len({row["episode"] for row in rows}) == 8
    assert json.loads((out / "summary.json").read_text())["episodes"]["success"] == 4
    with av.open(str(out / "scores.mp4")) as video:
        pictures = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    assert len(pictures) == 2 * (STEPS + 10)  # every row, and the last one of an episode stays for a second
    assert np.any(pictures[0] != pictures[STEPS - 1])


def test_record_scores_live(lab: Path, rig: Path, policy: Made, reward: Made) -> None:
    acting = ["--control=policy", f"--policy={policy.path}", f"--reward={reward.path}", "--judge"]
    said = svm_robot("record", rig, "--episodes=2", f"--dataset={lab / 'watched'}", *acting)
    scores = re.findall(r"live score (0\.\d\d), (\d+\.\d)/(\d+\.\d) ms", said)
    assert len(scores) == 2
    assert all(0 < float(p50) <= float(p95) for _, p50, p95 in scores)


def test_finetune_learns_and_keeps_a_policy(lab: Path, svm: Made, rig: Path) -> None:
    run = read_run(svm.path)
    assert (run.shaping, run.state, run.about["offline_steps"]) == ("svm", FINISHED, 8 * STEPS)
    noted = read_journal(svm.path, "run")[0][OFFLINE]
    assert noted["label_hash"] == load_dataset(lab / "rollouts", frames=False).label_hash
    assert set(run.baselines) == {"sampled", "zero"}
    assert [point.env_steps for point in run.episodes] == list(range(90, 201, STEPS))
    assert run.learner[-1].updates > run.learner[0].updates > 0
    assert [evaluation.env_steps for evaluation in run.evaluations] == [100, 200]
    assert run.final is not None and run.final.episodes == 2
    assert f"--policy={svm.path / 'best'}" in svm.said and "live score:" in svm.said
    assert has_pilot(svm.path / "best") and load_state(svm.path)["counters"]["env_steps"] == 200
    assert len(checkpoints(svm.path)) == 2
    figures = json.loads(
        svm_robot("evaluate", rig, f"--policy={svm.path / 'best'}", "--episodes=2", "--judge", "--json")
    )
    assert (figures["noise"], figures["episodes"]) == ("auto", 2)


def test_finetune_refuses_a_budget_that_the_recorded_episodes_use_up(
    lab: Path, finetune: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = lab / "nothing left"
    assert main([*finetune, f"--run={run}", f"--steps={8 * STEPS}"]) == 2
    said = capsys.readouterr().err
    assert f"hold {8 * STEPS} steps" in said and said.count("\n") == 1
    assert not run.exists()


@pytest.fixture
def outcome(lab: Path, finetune: list[str]) -> Made:
    """The same with the outcome alone, in a process of its own, and Ctrl-C after the second episode."""
    run = lab / "outcome"
    if run.exists():
        return Made(run, "")
    words = [*finetune, f"--run={run}", "--shaping=outcome", "--steps=100000"]
    with child_of_ours(*words) as child:
        patience = time.monotonic() + 60
        while episodes_in(run) < 2 and child.poll() is None and time.monotonic() < patience:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        said, complaint = child.communicate(timeout=60)
    assert child.returncode == 130, complaint
    assert "Traceback" not in complaint
    return Made(run, said)


def episodes_in(run: Path) -> int:
    try:
        return len(read_journal(run, "episode"))
    except DataError:
        return 0


def test_ctrl_c_keeps_what_is_whole_and_resume_goes_on(outcome: Made, finetune: list[str]) -> None:
    assert "stopped after" in outcome.said and "--resume" in outcome.said
    assert read_run(outcome.path).state == "stopped by Ctrl-C"
    steps = load_state(outcome.path)["counters"]["env_steps"]
    assert steps >= 8 * STEPS + STEPS
    svm_robot(*finetune, f"--run={outcome.path}", "--shaping=outcome", f"--steps={steps + 20}", "--resume")
    run = read_run(outcome.path)
    assert (run.starts, run.state, run.shaping) == (2, FINISHED, "outcome")
    numbers = sorted({point.episode for point in run.episodes})
    assert numbers == list(range(len(numbers)))
    assert run.env_steps == steps + 20


def test_report_shows_both_runs(lab: Path, svm: Made, outcome: Made, rollouts: Made) -> None:
    page, figures = lab / "report.html", lab / "summary.json"
    svm_robot("report", svm.path, outcome.path, f"--out={page}", f"--summary={figures}", f"--base={rollouts.path}")
    html = page.read_text()
    assert html.startswith("<!doctype html>") and "svm" in html and "outcome" in html
    assert "data:image" in html and not re.search(r'(src|href)="(https?:|/)', html)
    summary = json.loads(figures.read_text())
    assert summary["svm"]["per_seed"][0]["state"] == FINISHED
    assert summary["env_steps"]["svm"] == 200
    assert summary["base"]["episodes"] == summary["zero_noise"]["episodes"] == 2
