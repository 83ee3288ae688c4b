"""Flow policy checkpoints: LeRobot's config.json and model.safetensors in one folder, published whole."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lerobot.configs import PreTrainedConfig

from svm_robot.data.files import check_place, new_folder
from svm_robot.data.model_folder import CONFIG, WEIGHTS, load_model
from svm_robot.errors import CheckpointError
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.rollout.env import RigShape
from svm_robot.rollout.fits import differences
from svm_robot.vision.encoder import fingerprint

NOTES = "pretrain.json"


def save_flow(policy: SvmFlowPolicy, path: Path, notes: Mapping[str, Any], overwrite: bool = False) -> None:
    """Write the checkpoint beside ``path`` and rename it: a reader sees the old one or the new one, never half of one.

    ``notes`` are plain values about the training, kept in ``pretrain.json``.
    """
    refuse_existing(path, overwrite)
    with new_folder(path) as fresh:
        policy.save_pretrained(fresh)
        (fresh / NOTES).write_text(json.dumps(dict(notes), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def refuse_existing(path: Path, overwrite: bool) -> None:
    """``CheckpointError`` unless ``path`` is free, or a policy checkpoint that may be replaced, and can be written."""
    check_place(path, "policy checkpoint", CONFIG, overwrite)


def load_flow(path: Path, device: str = "cpu") -> SvmFlowPolicy:
    """The flow policy saved in ``path``, ready to act. Raises ``CheckpointError`` for anything else."""
    policy: SvmFlowPolicy = load_model(path, device, "policy", "pretrain", PreTrainedConfig, SvmFlowPolicy)
    if policy.config.encoder_fingerprint != fingerprint(policy.encoder):
        raise CheckpointError(f"{path}: {CONFIG} and {WEIGHTS} do not belong together (the encoder's hash differs)")
    return policy


def check_fits(policy: SvmFlowPolicy, spec: RigShape) -> None:
    """``CheckpointError`` with a diff when ``spec`` is not the robot this policy was trained on."""
    config = policy.config
    found = differences(
        spec,
        robot_type=config.robot_type,
        joints=config.joints,
        cameras=config.cameras,
        rate_hz=config.rate_hz,
    )
    if found:
        raise CheckpointError(f"this is a policy of another robot: the rig has {'; '.join(found)}")
