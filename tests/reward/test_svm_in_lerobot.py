"""LeRobot's own trainer makes a reward from a dataset that we recorded and labelled."""

from pathlib import Path

import pytest
from lerobot.datasets import LeRobotDatasetMetadata
from lerobot_trainer import lerobot_train
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.errors import DataError
from svm_robot.reward.checkpoint import load_reward
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.lerobot_dataset import episode_labels
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.score import score_episode, summarise
from svm_robot.rollout.episode import Outcome


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    record_toy(tmp_path / "toy", "sfsff")
    return tmp_path / "toy"


def test_labels_come_from_the_log_and_only_verdicts_count(recording: Path) -> None:
    meta = LeRobotDatasetMetadata("toy", root=recording)
    assert episode_labels(SvmConfig(), meta) == {0: True, 1: False, 2: True, 3: False, 4: False}
    log, episodes = LabelLog(recording), load_dataset(recording, frames=False).episodes
    log.set(episodes[4].uid, Outcome.UNSURE, "tester")
    log.set(episodes[0].uid, Outcome.FAILURE, "tester")
    assert episode_labels(SvmConfig(), meta) == {0: False, 1: False, 2: True, 3: False}
    log.set(episodes[2].uid, Outcome.ABORTED, "tester")
    with pytest.raises(DataError, match="0 successes and 3 failures: need both"):
        episode_labels(SvmConfig(), meta)


def test_a_model_made_for_the_dataset_knows_robot_labels_and_normaliser(recording: Path) -> None:
    meta = LeRobotDatasetMetadata("toy", root=recording)
    model = SvmRewardModel(
        SvmConfig(action="chunk", chunk=2, device="cpu"), dataset_stats=meta.stats, dataset_meta=meta
    )
    assert (model.config.joints, model.config.rate_hz, model.config.dataset) == (["a.pos", "b.pos"], 10.0, "toy")
    data = load_dataset(recording, frames=False)
    assert (model.config.dataset_id, model.config.label_hash) == (data.fingerprint, data.label_hash)
    assert model.config.cameras == {"front": [32, 32], "wrist": [32, 32]}
    assert model.state_std.tolist() == pytest.approx(meta.stats["observation.state"]["std"].tolist())
    assert sum(model.labels.values()) == 2


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_lerobot_train_trains_it(recording: Path, tmp_path: Path) -> None:
    checkpoint = lerobot_train(
        recording,
        tmp_path / "run",
        steps=20,
        batch_size=16,
        log_freq=10,
        reward_model__type="svm",
        reward_model__action="chunk",
        reward_model__chunk=2,
        reward_model__lr=0.003,
        reward_model__device="cpu",
        reward_model__push_to_hub="false",
    )
    model = load_reward(checkpoint)
    data = load_dataset(recording)
    summary = summarise([score_episode(model, episode) for episode in data.episodes])
    assert summary["auc_moment"][0] > 0.9  # the labels reached the loss
