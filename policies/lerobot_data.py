"""What LeRobot's trainer knows of a dataset, read into our configuration and normaliser."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from svm_robot.data.dataset import joint_names
from svm_robot.errors import DataError
from svm_robot.policies.chunks import Statistics, statistics
from svm_robot.policies.configuration_svm_flow import ACTION, IMAGES, STATE, SvmFlowConfig
from svm_robot.rollout.env import FloatArray


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
    config.dataset_id = str(meta.repo_id)


def statistics_of(meta: Any, chunk: int) -> Statistics:
    """Exact chunk statistics from a dataset's own columns (LeRobot's ``stats`` hold none for relative targets)."""
    files = sorted((Path(meta.root) / "data").rglob("*.parquet"))
    if not files:
        raise DataError(f"no data files under {meta.root}/data; the normaliser needs the joints and actions")
    tables = [pq.read_table(file, columns=[STATE, ACTION, "episode_index"]) for file in files]
    state, action = (np.concatenate([_column(table[name]) for table in tables]) for name in (STATE, ACTION))
    index = np.concatenate([table["episode_index"].to_numpy() for table in tables])
    borders = np.flatnonzero(np.diff(index)) + 1
    return statistics(zip(np.split(state, borders), np.split(action, borders), strict=True), chunk)


def _column(column: Any) -> FloatArray:
    return np.stack(column.to_numpy()).astype(np.float32)
