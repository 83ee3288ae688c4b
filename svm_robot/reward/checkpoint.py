"""Reward checkpoints: a folder with LeRobot's config.json and model.safetensors, published whole."""

from pathlib import Path

from lerobot.configs.rewards import RewardModelConfig

from svm_robot.data.files import check_place, new_folder
from svm_robot.data.model_folder import CONFIG, load_model
from svm_robot.errors import CheckpointError
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.rollout.env import RigShape
from svm_robot.rollout.fits import differences


def save_reward(model: SvmRewardModel, path: Path, overwrite: bool = False) -> None:
    """Write beside ``path``, then rename: a reader sees the old checkpoint or the new one, never half of one."""
    refuse_existing(path, overwrite)
    with new_folder(path) as fresh:
        model.save_pretrained(fresh)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """``CheckpointError`` unless ``path`` is free, or a reward checkpoint that may be replaced, and can be written."""
    check_place(path, "reward checkpoint", CONFIG, overwrite)


def load_reward(path: Path, device: str = "cpu") -> SvmRewardModel:
    """The reward model saved in ``path``, ready to score. Raises ``CheckpointError`` for anything else."""
    model: SvmRewardModel = load_model(path, device, "reward", "fit-reward", RewardModelConfig, SvmRewardModel)
    return model


def check_fits(model: SvmRewardModel, spec: RigShape) -> None:
    """``CheckpointError`` with a diff when ``spec`` is not the robot this reward was fitted on."""
    config = model.config
    found = differences(
        spec,
        robot_type=config.robot_type,
        joints=config.joints,
        cameras=config.cameras,
        rate_hz=config.rate_hz,
    )
    if found:
        this = f"this one has {'; '.join(found)}"
        raise CheckpointError(f"the reward is for another robot: {this}. Fit one on its own episodes")
