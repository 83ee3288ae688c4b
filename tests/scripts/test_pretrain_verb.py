"""``svm-robot pretrain`` and ``evaluate``: the figures they print, and wrong input that changes nothing."""

import json
from pathlib import Path

import pytest
import torch
from recordings import record_toy
from toy_flow import tiny_config, tiny_flow

from svm_robot.learner.networks import Actor
from svm_robot.learner.pilot import save_pilot
from svm_robot.policies.checkpoint import load_flow, save_flow
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.rollout.evaluate import evaluation_seeds
from svm_robot.scripts.main import main

JOINTS = [
    f"{name}.pos" for name in ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
]
RIG = """
robot:
  type: virtual_so101
  link: lockstep
  task: place
  cameras:
    front: {type: virtual, width: 32, height: 32, fps: 10}
rate_hz: 10
episode_s: 0.6
"""
REAL_RIG = Path(__file__).resolve().parents[2] / "rigs" / "so101.yaml"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recordings") / "toy"
    record_toy(root, "sf")
    return root


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    path = tmp_path / "rig.yaml"
    path.write_text(RIG)
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """An untrained policy for the rig above."""
    torch.manual_seed(0)
    config = tiny_config(chunk=2)
    config.describe("virtual_so101", JOINTS, {"front": (32, 32)}, 10.0)
    save_flow(SvmFlowPolicy(config), tmp_path / "policy", {})
    return tmp_path / "policy"


def test_pretrain_writes_a_policy_and_says_nats(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    threads = torch.get_num_threads()
    out = tmp_path / "policies" / "base"
    try:
        assert main(["pretrain", str(recording), f"--out={out}", "--steps=3", "--batch=4", "--threads=1"]) == 0
    finally:
        torch.set_num_threads(threads)
    said = capsys.readouterr().out
    assert "nats per chunk" in said and str(out) in said
    notes = json.loads((out / "pretrain.json").read_text())
    assert (notes["steps"], notes["train_episodes"], notes["held_out_episodes"]) == (3, 1, 1)
    assert load_flow(out).config.robot_type == "toy"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--out=new", "--on=failures"], 2, "failures"),
        (["--out=new", "--steps=0"], 2, "steps"),
        (["--out=new", "--rig=nowhere.yaml"], 2, "nowhere.yaml"),
        (["--out=new", f"--rig={REAL_RIG}"], 2, "describes a real robot"),
        (["--out=taken"], 4, "exists already"),
        (["--out=taken", "--overwrite"], 4, "no policy checkpoint"),
        ([], 2, "--out"),
    ],
)
def test_pretrain_refuses_and_changes_nothing(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    options: list[str], code: int, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("taken").mkdir()
    assert main(["pretrain", str(recording), *options]) == code
    captured = capsys.readouterr()
    assert said in captured.err and captured.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken"] and not list(Path("taken").iterdir())


def test_pretrain_needs_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pretrain", str(tmp_path / "nowhere"), f"--out={tmp_path / 'new'}"]) == 3
    assert "nowhere" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_evaluate_counts_and_gives_an_interval(rig: Path, policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(rig), f"--policy={policy}", "--episodes=2", "--judge", "--noise=zero", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["episodes"], figures["successes"], figures["mean_steps"]) == (2, 0, 6.0)
    assert figures["interval"][0] == 0 and 0.5 < figures["interval"][1] < 1
    assert 0 < figures["act_ms"]["p50"] <= figures["act_ms"]["p95"]
    assert main(["evaluate", str(rig), f"--policy={policy}", "--episodes=1", "--judge"]) == 0
    assert "success 0/1 = 0.00 (95 %: 0.00 to" in capsys.readouterr().out


def test_evaluate_takes_the_finetuned_pilot_that_lies_beside_the_policy(
    rig: Path, policy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = load_flow(policy)
    save_pilot(policy, Actor(flow.vector_size, flow.config.latent_dim, 8, bound=1.5), 33)
    used = []
    monkeypatch.setattr(
        "svm_robot.learner.pilot.ActorPilot.__call__", lambda self, vector: used.append(1) or vector[:12]
    )
    assert main(["evaluate", str(rig), f"--policy={policy}", "--episodes=1", "--judge"]) == 0
    assert len(used) == 3  # six steps in chunks of two
    assert main(["evaluate", str(rig), f"--policy={policy}", "--episodes=1", "--judge", "--noise=sampled"]) == 0
    assert len(used) == 3


def test_evaluate_refuses_a_policy_of_another_robot(
    rig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_flow(tiny_flow(), tmp_path / "toy", {})
    assert main(["evaluate", str(rig), f"--policy={tmp_path / 'toy'}", "--judge"]) == 4
    said = capsys.readouterr().err
    assert "policy of another robot" in said and "unknown joint shoulder_pan.pos" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--policy=nowhere", "--judge"], 4, "no policy checkpoint at nowhere"),
        (["--policy=policy", "--judge", "--episodes=0"], 2, "at least 1"),
        (["--policy=policy", "--judge", "--noise=loud"], 2, "loud"),
        (["--policy=policy"], 2, "--judge"),
        (["--judge"], 2, "--policy"),
    ],
)
def test_evaluate_refuses_in_one_line(
    rig: Path, policy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    options: list[str], code: int, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(rig.parent)
    assert main(["evaluate", "rig.yaml", *options]) == code
    captured = capsys.readouterr()
    assert said in captured.err and captured.err.count("\n") == 1


def test_evaluation_starts_are_not_recording_starts() -> None:
    assert not set(evaluation_seeds(0, 200)) & set(range(10_000))


def test_a_finetuned_pilot_keeps_its_own_clock(policy: Path) -> None:
    from svm_robot.scripts.evaluate import steered

    flow = load_flow(policy)
    save_pilot(policy, Actor(flow.vector_size, flow.config.latent_dim, 8, bound=1.5), 33)
    assert steered(flow, "auto", max_steps=99, folder=policy).horizon_steps == 33
    assert steered(flow, "zero", max_steps=99, folder=policy).horizon_steps == 99
