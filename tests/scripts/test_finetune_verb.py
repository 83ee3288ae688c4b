"""What ``svm-robot finetune`` refuses, before it moves or writes anything."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from recordings import record_toy
from toy_flow import tiny_flow
from toys import ToySpec

from svm_robot.data import load_dataset
from svm_robot.data.journal import Journal
from svm_robot.data.staleness import OFFLINE, trained_on
from svm_robot.errors import CheckpointError
from svm_robot.learner.experience import RewardInputs
from svm_robot.learner.networks import Actor
from svm_robot.learner.pilot import save_pilot
from svm_robot.learner.sac import SacConfig
from svm_robot.policies.steering import GaussianPilot, SteeredPolicy, ZeroPilot
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.live import LiveScore
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.scripts.evaluate import steered
from svm_robot.scripts.finetune import recorded
from svm_robot.scripts.finetune_parts import Parts
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


@pytest.mark.parametrize(("lam", "said"), [("0.25", True), ("0.1", False)])
def test_a_reward_that_pays_for_hovering_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lam: str, said: bool
) -> None:
    options = [f"--policy={tmp_path / 'none'}", "--reward=r", f"--run={tmp_path / 'run'}", f"--lam={lam}"]
    assert main(["finetune", RIG, *options]) == 4
    assert ("hovering can pay 0.25 a decision" in capsys.readouterr().err) is said


def test_help_lists_the_learners_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["finetune", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for option in ("--shaping", "--steps", "--lam", "--sac.gamma", "--offline", "--resume", "--rate_hz"):
        assert option in text
    assert "success alone" in text  # the comments beside the fields


@pytest.mark.parametrize(
    ("reads", "says"),
    [
        ({"action": "noise", "latent_dim": 3}, "noise of 3 numbers, the policy has 6"),
        ({"action": "chunk", "chunk": 5}, "chunks of 5 control steps, the policy's have 3"),
        ({"action": "noise", "latent_dim": 6}, ""),
        ({"action": "none"}, ""),
    ],
)
def test_a_reward_that_reads_something_else_is_refused(reads: dict[str, object], says: str) -> None:
    flow, spec = tiny_flow(chunk=3), ToySpec()
    cameras = {role: list(size) for role, size in spec.cameras.items()}
    model = SvmRewardModel(SvmConfig(joints=list(spec.joints), cameras=cameras, device="cpu", **reads))  # type: ignore[arg-type]
    policy = SteeredPolicy(flow, ZeroPilot(flow.config.latent_dim), 10)
    parts = Parts(policy, RewardInputs(model, 10), LiveScore(model), {}, {})
    with pytest.raises(CheckpointError, match=says) if says else nullcontext():
        parts.check(spec)


def test_the_sampled_base_of_a_run_is_the_one_that_run_measured(tmp_path: Path) -> None:
    flow = tiny_flow()
    save_pilot(tmp_path, Actor(flow.vector_size, flow.config.latent_dim, 8, bound=0.7), 33)

    def bound(folder: Path | None) -> float:
        pilot = steered(flow, "sampled", 10, folder).pilot
        assert isinstance(pilot, GaussianPilot)
        return pilot.bound

    assert bound(tmp_path) == 0.7
    assert bound(None) == SacConfig().bound  # and what 'record' draws is what a run steers unless it is told otherwise


def test_a_resumed_run_says_that_it_keeps_the_labels_it_began_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, run = tmp_path / "rollouts", tmp_path / "run"
    record_toy(root, "ff", max_steps=3)
    Journal(run).write("run", **{OFFLINE: trained_on(load_dataset(root, frames=False))})
    config = SimpleNamespace(offline=root, run=run, resume=True)
    assert recorded(None, config, None).episodes == ()  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""
    assert main(["label", str(root), "--episode=1", "--set=success"]) == 0
    assert recorded(None, config, None).episodes == ()  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert "episode 1: failure -> success" in said and "A run keeps the labels it began with" in said
