"""What a reward model takes from a LeRobot dataset when LeRobot's own trainer makes it."""

from pathlib import Path
from typing import Any

from svm_robot.data.columns import IMAGES, LATENT, STATE
from svm_robot.errors import CheckpointError, DataError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.rollout.episode import Outcome


def describe(config: SvmConfig, meta: Any) -> None:
    """Fill joints, cameras, noise and rate of an empty ``config`` from the dataset, or check that a full one agrees."""
    joints, cameras = joint_names(meta.features), camera_sizes(meta.features)
    if config.joints:
        if (config.joints, config.cameras) != (joints, cameras):
            raise CheckpointError(
                f"the reward was made for joints {config.joints} and cameras {config.cameras}; "
                f"the dataset has {joints} and {cameras}"
            )
        return
    config.joints, config.cameras = joints, cameras
    config.robot_type, config.rate_hz = meta.robot_type or "", float(meta.fps)
    config.dataset = Path(meta.root).name
    if config.action == "noise":
        if LATENT not in meta.features:
            raise DataError(f"action=noise needs the column {LATENT}; choose action=chunk, step or none")
        config.latent_dim = int(meta.features[LATENT]["shape"][0])


def joint_names(features: dict[str, Any]) -> list[str]:
    """Names of the state's numbers; LeRobot allows a list, a mapping of lists, or nothing."""
    names = features[STATE]["names"]
    if isinstance(names, dict):
        names = [name for group in names.values() for name in group]
    return list(names) if names else [f"joint_{i}" for i in range(features[STATE]["shape"][0])]


def camera_sizes(features: dict[str, Any]) -> dict[str, list[int]]:
    """Camera role -> [height, width] [pixels]."""
    sizes = {}
    for key, feature in features.items():
        if feature["dtype"] not in ("image", "video"):
            continue
        if not key.startswith(IMAGES):
            raise DataError(f"camera column {key}: expected {IMAGES}ROLE")
        height, width = feature["shape"][:2] if feature["shape"][-1] == 3 else feature["shape"][1:]
        sizes[key.removeprefix(IMAGES)] = [int(height), int(width)]
    return sizes


def episode_labels(meta: Any) -> dict[int, bool]:
    """Episode index -> was it a success? Only episodes labelled success or failure are in it."""
    from svm_robot.data import load_dataset

    outcomes = {episode.index: episode.outcome for episode in load_dataset(Path(meta.root), frames=False).episodes}
    labels = {index: outcome is Outcome.SUCCESS for index, outcome in outcomes.items() if trains(outcome)}
    if len(set(labels.values())) < 2:
        raise DataError(
            f"{sum(labels.values())} successes and {len(labels) - sum(labels.values())} failures: need both"
        )
    return labels


def trains(outcome: Outcome | None) -> bool:
    """Only a plain success or failure is an example; unsure, aborted and unlabelled episodes are neither."""
    return outcome in (Outcome.SUCCESS, Outcome.FAILURE)
