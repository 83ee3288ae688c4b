"""What LeRobot's trainer knows of a dataset, read into our configuration and normaliser."""

from pathlib import Path
from typing import Any

from svm_robot.data import load_dataset
from svm_robot.data.columns import IMAGES, STATE
from svm_robot.data.dataset import joint_names
from svm_robot.policies.chunks import Statistics, statistics
from svm_robot.policies.configuration_svm_flow import SvmFlowConfig


def complete_config(config: SvmFlowConfig, meta: Any | None) -> None:
    """Fill in joints and cameras that nobody has set: from dataset metadata, else from the features' shapes."""
    if config.joints and config.cameras:
        return
    config.validate_features()
    cameras = {key.removeprefix(IMAGES): (f.shape[1], f.shape[2]) for key, f in config.image_features.items()}
    state = config.robot_state_feature
    assert state is not None  # validate_features has refused that
    if meta is None:
        joints = [f"joint_{number}" for number in range(state.shape[0])]
        config.describe(config.robot_type, joints, cameras, config.rate_hz)
        return
    joints = list(joint_names(meta.features[STATE]))
    config.describe(meta.robot_type or "", joints, cameras, float(meta.fps))


def statistics_of(config: SvmFlowConfig, meta: Any) -> Statistics:
    """Exact chunk statistics of a dataset's own rows (LeRobot's ``stats`` hold none for relative targets).

    ``config`` notes which dataset and which labels these are.
    """
    dataset = load_dataset(Path(meta.root), frames=False)
    config.dataset_id, config.label_hash = dataset.fingerprint, dataset.label_hash
    return statistics([(episode.state, episode.action) for episode in dataset.episodes], config.chunk_size)
