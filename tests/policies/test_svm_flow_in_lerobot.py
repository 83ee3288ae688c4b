"""LeRobot's own factory and trainer on a dataset that we recorded."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from lerobot.datasets import LeRobotDatasetMetadata
from lerobot.policies.factory import make_policy
from lerobot_trainer import lerobot_train
from recordings import record_toy
from toy_flow import tiny_config

from svm_robot.data import load_dataset
from svm_robot.policies.checkpoint import load_flow
from svm_robot.policies.chunks import statistics


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recordings") / "toy"
    record_toy(root, "sfs")
    return root


def test_the_factory_fills_in_robot_and_normaliser_from_the_dataset(recording: Path) -> None:
    config = tiny_config()
    policy = make_policy(config, ds_meta=LeRobotDatasetMetadata("toy", root=recording))
    data = load_dataset(recording, frames=False)
    assert (config.joints, config.robot_type, config.rate_hz) == (["a.pos", "b.pos"], "toy", 10.0)
    assert config.cameras == {"front": [32, 32], "wrist": [32, 32]}
    ours = statistics([(episode.state, episode.action) for episode in data.episodes], chunk=3)
    np.testing.assert_allclose(policy.delta_scale.std.numpy(), ours.delta_std, rtol=1e-5)
    np.testing.assert_allclose(policy.state_scale.mean.numpy(), ours.state_mean, rtol=1e-5)
    assert (config.dataset_id, config.label_hash) == (data.fingerprint, data.label_hash)


@pytest.mark.slow
@pytest.mark.timeout(330)  # half a minute of work, most of it imports; a busy machine takes its time
def test_lerobot_train_trains_it(recording: Path, tmp_path: Path) -> None:
    checkpoint = lerobot_train(
        recording,
        tmp_path / "run",
        steps=6,
        batch_size=4,
        log_freq=3,
        policy__type="svm_flow",
        policy__device="cpu",
        policy__chunk_size=3,
        policy__hidden=32,
        policy__push_to_hub="false",
    )
    assert json.loads((checkpoint / "config.json").read_text())["type"] == "svm_flow"
    policy = load_flow(checkpoint)  # and our own loader takes what LeRobot saved
    assert policy.config.robot_type == "toy" and policy.delta_scale.std.min() > 0
    chunk = policy.generate(torch.zeros(1, 64), torch.zeros(1, 2), torch.zeros(1, 6))
    assert chunk.shape == (1, 3, 2) and torch.isfinite(chunk).all()
