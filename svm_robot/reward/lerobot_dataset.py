"""What a reward model takes from a LeRobot dataset when LeRobot's own trainer makes it."""

from pathlib import Path
from typing import Any

from svm_robot.data import load_dataset
from svm_robot.data.columns import LATENT, STATE
from svm_robot.data.dataset import joint_names
from svm_robot.data.pictures import camera_keys, camera_size
from svm_robot.errors import CheckpointError, ConfigError, DataError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.rollout.episode import Outcome


def describe(config: SvmConfig, meta: Any) -> None:
    """Fill joints, cameras, noise and rate of an empty ``config`` from the dataset, or check that a full one agrees."""
    joints = list(joint_names(meta.features[STATE]))
    cameras = {role: list(camera_size(meta.features[key])) for role, key in camera_keys(meta.features).items()}
    if config.progress and config.horizon_steps < 1:
        raise ConfigError("progress=true needs horizon_steps, the length of a whole episode [control steps]")
    if config.joints:
        if (config.joints, config.cameras) != (joints, cameras):
            raise CheckpointError(
                f"the reward was made for joints {config.joints} and cameras {config.cameras}; "
                f"the dataset has {joints} and {cameras}"
            )
        return
    config.joints, config.cameras = joints, cameras
    config.robot_type, config.rate_hz = meta.robot_type or "", float(meta.fps)
    if config.action == "noise":
        if LATENT not in meta.features:
            raise DataError(f"action=noise needs the column {LATENT}; choose action=chunk, step or none")
        config.latent_dim = int(meta.features[LATENT]["shape"][0])


def episode_labels(config: SvmConfig, meta: Any) -> dict[int, bool]:
    """Episode index -> was it a success? Only episodes labelled success or failure are in it.

    ``config`` notes which dataset and which labels these are.
    """
    dataset = load_dataset(Path(meta.root), frames=False)
    config.dataset = dataset.root.resolve().name
    config.dataset_id, config.label_hash = dataset.fingerprint, dataset.label_hash
    outcomes = {episode.index: episode.outcome for episode in dataset.episodes}
    labels = {index: outcome is Outcome.SUCCESS for index, outcome in outcomes.items() if trains(outcome)}
    if len(set(labels.values())) < 2:
        raise DataError(
            f"{sum(labels.values())} successes and {len(labels) - sum(labels.values())} failures: need both"
        )
    return labels


def trains(outcome: Outcome | None) -> bool:
    """Only a plain success or failure is an example; unsure, aborted and unlabelled episodes are neither."""
    return outcome in (Outcome.SUCCESS, Outcome.FAILURE)
