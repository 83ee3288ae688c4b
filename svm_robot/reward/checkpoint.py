"""Reward checkpoints: a folder with LeRobot's config.json and model.safetensors, published whole."""

import contextlib
import io
from pathlib import Path

import draccus
from lerobot.configs.rewards import RewardModelConfig
from safetensors import SafetensorError

from svm_robot.data.files import check_place, new_folder
from svm_robot.errors import CheckpointError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.rollout.env import EnvSpec


def save_reward(model: SvmRewardModel, path: Path, overwrite: bool = False) -> None:
    """Write beside ``path``, then rename: a reader sees the old checkpoint or the new one, never half of one."""
    refuse_existing(path, overwrite)
    with new_folder(path) as fresh:
        model.save_pretrained(fresh)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """``CheckpointError`` unless ``path`` is free, or a reward checkpoint that may be replaced, and can be written."""
    check_place(path, "reward checkpoint", "config.json", overwrite)


def load_reward(path: Path, device: str = "cpu") -> SvmRewardModel:
    """The reward model saved in ``path``, ready to score. Raises ``CheckpointError`` for anything else."""
    if not path.is_dir():
        raise CheckpointError(f"no reward checkpoint at {path} ('svm-robot fit-reward' writes one)")
    for name in ("config.json", "model.safetensors"):
        if not (path / name).is_file():
            raise CheckpointError(f"{path} is no reward checkpoint: {name} is missing")
    try:
        config = RewardModelConfig.from_pretrained(path, cli_overrides=[f"--device={device}"])
        if not isinstance(config, SvmConfig):
            raise CheckpointError(f"{path} holds a reward model of type '{config.type}', this tool reads 'svm'")
        with contextlib.redirect_stdout(io.StringIO()):  # LeRobot announces every loading
            model: SvmRewardModel = SvmRewardModel.from_pretrained(path, config=config, strict=True)
            return model
    except (draccus.utils.DecodingError, draccus.ParsingError, SafetensorError, RuntimeError, KeyError) as error:
        raise CheckpointError(f"{path} cannot be read as a reward model: {' '.join(str(error).split())}") from error


def check_fits(model: SvmRewardModel, spec: EnvSpec) -> None:
    """``CheckpointError`` naming every joint and camera of ``spec`` that the reward was not fitted for."""
    config = model.config
    found = differences("joint", config.joints, list(spec.joints))
    wanted = {role: (size[0], size[1]) for role, size in config.cameras.items()}
    found += differences("camera", list(wanted), list(spec.cameras), ordered=False)
    for role in wanted.keys() & spec.cameras.keys():
        if wanted[role] != tuple(spec.cameras[role]):
            want, got = ("x".join(map(str, size)) for size in (wanted[role], spec.cameras[role]))
            found.append(f"camera {role} gives {got}, fitted on {want} (height x width)")
    if config.robot_type and config.robot_type != spec.robot_type:
        found.append(f"robot {spec.robot_type}, fitted on {config.robot_type}")
    if config.rate_hz and abs(config.rate_hz - spec.rate_hz) > 0.01 * config.rate_hz:
        found.append(f"control rate {spec.rate_hz:g} Hz, fitted on {config.rate_hz:g} Hz")
    if found:
        raise CheckpointError(f"the reward does not fit this robot: {'; '.join(found)}. Fit one on its own episodes")


def differences(what: str, wanted: list[str], got: list[str], ordered: bool = True) -> list[str]:
    """What is missing, what is too much, and (for ``ordered`` names) whether the order differs."""
    missing = [name for name in wanted if name not in got]
    extra = [name for name in got if name not in wanted]
    found = [f"missing {what} {', '.join(missing)}"] if missing else []
    found += [f"unexpected {what} {', '.join(extra)}"] if extra else []
    if ordered and not found and wanted != got:
        found.append(f"{what}s in another order: {', '.join(got)}, fitted on {', '.join(wanted)}")
    return found
