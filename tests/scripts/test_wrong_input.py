"""What does not fit is answered in one line, and not one byte on disk is another afterwards."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch
from tiny_lab import svm_robot, tiny_rig
from toy_flow import tiny_config

from svm_robot.drivers.joints import MOTORS
from svm_robot.policies.checkpoint import save_flow
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.reward.checkpoint import save_reward
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.scripts.main import main

JOINTS = [f"{motor}.pos" for motor in MOTORS]
CAMERAS = {"front": [32, 32], "wrist": [32, 32]}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as it looks after some work: rigs, a policy, rewards, a recording, a run."""
    folder = tmp_path_factory.mktemp("lab")
    rig = tiny_rig(folder)
    tiny_rig(folder, front=32)
    tiny_rig(folder, front=48, wrist=48)
    (folder / "bad.yaml").write_text(rig.read_text().replace("rate_hz: 10", "rate_hz: [10"))
    make_policy(folder / "policy")
    shutil.copytree(folder / "policy", folder / "claw_policy")
    config = json.loads((folder / "claw_policy" / "config.json").read_text())
    config["joints"][-1] = "claw.pos"
    (folder / "claw_policy" / "config.json").write_text(json.dumps(config))
    make_reward(folder / "noise_reward", action="noise", latent_dim=12, cameras=CAMERAS)
    make_reward(folder / "front_reward", action="none", cameras={"front": [32, 32]})
    svm_robot("record", rig, "--episodes=1", "--judge", f"--dataset={folder / 'demos'}")
    (folder / "run").mkdir()
    (folder / "run" / "notes.txt").write_text("mine")
    return folder


def make_policy(path: Path) -> None:
    """Untrained, for the rig of ``tiny_rig``."""
    torch.manual_seed(0)
    config = tiny_config(chunk=2)
    config.describe("virtual_so101", JOINTS, dict.fromkeys(CAMERAS, (32, 32)), 10.0)
    save_flow(SvmFlowPolicy(config), path, {})


def make_reward(path: Path, **settings: object) -> None:
    """Unfitted."""
    about = {"joints": JOINTS, "robot_type": "virtual_so101", "rate_hz": 10.0, "hidden": 8, "device": "cpu"}
    save_reward(SvmRewardModel(SvmConfig(**about | settings)), path)  # type: ignore[arg-type]


def tree(folder: Path) -> dict[str, str]:
    """What lies below a folder: name -> hash of the content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


RECORD = "record rig.yaml --judge --episodes=1"
ACT = "--control=policy --policy=policy"
TUNE = "finetune rig.yaml --judge --policy=policy --reward=noise_reward"


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("recrod rig.yaml", 2, ["unknown verb 'recrod'", "record"]),
        ("record none.yaml --episodes=1 --dataset=new", 2, ["no such rig file: none.yaml"]),
        ("evaluate none.yaml --policy=policy", 2, ["no such rig file: none.yaml"]),
        ("record bad.yaml --episodes=1 --dataset=new", 2, ["bad.yaml, line 10: "]),
        ("finetune bad.yaml --policy=policy --reward=noise_reward --run=new", 2, ["bad.yaml, line 10: "]),
        (f"{RECORD} --dataset=new --robot.cameras={{side:{{type:virtual}}}}", 2, ["no camera 'side'", "front, wrist"]),
        (f"{RECORD} --dataset=new --robot.cameras={{front:{{type:webcam}}}}", 2, ["--robot.cameras", "virtual"]),
        (f"{RECORD} --dataset=new --robot.task=juggle", 2, ["juggle", "place"]),
        ("evaluate front32.yaml --judge --policy=policy", 4, ["no camera wrist"]),
        ("evaluate front48_wrist48.yaml --judge --policy=policy", 4, ["front gives 48x48 instead of 32x32"]),
        (f"record front32.yaml --judge --episodes=1 --dataset=new {ACT}", 4, ["no camera wrist"]),
        (f"{RECORD} --dataset=new --reward=front_reward", 4, ["unknown camera wrist"]),
        (f"{RECORD} --dataset=new --reward=noise_reward", 4, ["a script has none", "--action=chunk"]),
        ("score front_reward demos --out=new", 4, ["unknown camera wrist"]),
        (f"{TUNE} --run=new --reward=front_reward", 4, ["unknown camera wrist"]),
        ("record front48_wrist48.yaml --judge --episodes=1 --dataset=demos", 3, ["another shape", "32x32", "48x48"]),
        (f"{RECORD} --dataset=demos {ACT}", 3, ["another shape"]),
        (f"{TUNE} --run=new --offline=demos", 3, ["another shape"]),
        ("evaluate rig.yaml --judge --policy=claw_policy", 4, ["no joint claw.pos", "unknown joint gripper.pos"]),
        (f"{RECORD} --dataset=new --control=policy --policy=claw_policy", 4, ["no joint claw.pos"]),
        (f"{TUNE} --run=new --policy=claw_policy", 4, ["no joint claw.pos"]),
        (f"{TUNE} --run=run", 2, ["run already exists", "--resume"]),
        (f"{TUNE} --run=new --resume", 4, ["new holds no checkpoint", "without --resume"]),
        (f"{TUNE} --run=run --resume", 4, ["run holds no checkpoint"]),
    ],
)
def test_one_line_and_nothing_changes(
    line: str, code: int, says: list[str], lab: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(lab)
    before = tree(lab)
    words = [word.replace(":", ": ") if word.startswith("--robot.cameras") else word for word in line.split()]
    assert main(words) == code
    printed = capsys.readouterr()
    assert all(part in printed.err for part in says), printed.err
    assert printed.err.count("\n") == 1 and printed.err.startswith("svm-robot")
    assert tree(lab) == before
