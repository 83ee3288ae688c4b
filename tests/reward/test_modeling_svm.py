"""The reward model: what it reads, what it refuses, and that LeRobot's own factories make, save and load it."""

import logging
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lerobot.configs.rewards import RewardModelConfig
from lerobot.rewards import make_reward_model, make_reward_pre_post_processors
from lerobot.rewards.factory import make_reward_model_config
from reward_episodes import JOINTS, SIZE
from toys import ToySpec

from svm_robot.errors import CheckpointError, ConfigError, DataError
from svm_robot.reward.checkpoint import check_fits, load_reward, save_reward
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.modeling_svm import SvmRewardModel

CAMERAS = {"front": [SIZE, SIZE], "wrist": [24, 40]}
NUMBERS = {"none": 0, "step": 2, "chunk": 6, "noise": 5}


def config(action: str = "step", **more: object) -> SvmConfig:
    latent = 5 if action == "noise" else 0
    given = {"joints": list(JOINTS), "cameras": CAMERAS, "chunk": 3, "latent_dim": latent, "device": "cpu"} | more
    return SvmConfig(action=action, **given)  # type: ignore[arg-type]


def moments(count: int = 3) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(1)
    frames = {role: rng.integers(0, 255, (count, *size, 3)).astype(np.uint8) for role, size in CAMERAS.items()}
    return frames, rng.normal(0, 20, (count, 2)).astype(np.float32)


def action_for(kind: str, state: np.ndarray) -> np.ndarray | None:
    count = len(state)
    shape = {"none": None, "step": (count, 2), "chunk": (count, 3, 2), "noise": (count, 5)}[kind]
    return None if shape is None else np.ones(shape, np.float32)


@pytest.mark.parametrize("kind", NUMBERS)
def test_inputs_have_the_stated_shape_and_order(kind: str) -> None:
    model = SvmRewardModel(config(kind))
    frames, state = moments()
    inputs = model.inputs(frames, state, action_for(kind, state))
    assert inputs.shape == (3, model.config.input_dim) == (3, 64 + 2 + NUMBERS[kind])
    assert inputs.dtype == torch.float32
    assert not inputs.requires_grad
    assert torch.equal(inputs[:, 64:66], torch.from_numpy(state))
    assert model.logits(inputs).shape == model.probability(inputs).shape == (3,)


def test_targets_become_differences_to_the_joints_at_the_start() -> None:
    state = np.array([[10.0, 20.0]], np.float32)
    chunk = np.array([[[11.0, 20.0], [12.0, 19.0], [13.0, 18.0]]], np.float32)
    numbers = SvmRewardModel(config("chunk", cameras={})).numbers(state, chunk)
    assert numbers[0, 2:].tolist() == pytest.approx([1, 0, 2, -1, 3, -2])


def test_the_normaliser_lives_inside_and_a_constant_joint_is_no_nan() -> None:
    model = SvmRewardModel(config("step", cameras={}))
    state = np.array([[0, 7], [10, 7], [20, 7]], np.float32)
    model.set_normaliser(state, state + np.array([[1, 0], [3, 0], [5, 0]], np.float32))
    numbers = model.numbers(state, state + np.array([[3, 0]], np.float32))
    assert numbers.mean(0).abs().max() < 1e-6
    assert torch.isfinite(numbers).all()
    assert numbers[:, 0].std(correction=0).item() == pytest.approx(1.0)


def test_features_of_a_policy_with_the_same_encoder_may_be_given() -> None:
    model = SvmRewardModel(config("none"))
    frames, state = moments()
    assert model.encoder is not None
    features = model.encoder.encode(frames)
    assert torch.equal(model.inputs({}, state, features=features), model.inputs(frames, state))


def test_the_clock_is_read_only_where_asked_for() -> None:
    frames, state = moments()
    model = SvmRewardModel(config("none", progress=True, horizon_steps=10))
    late = model.inputs(frames, state, progress=np.array([0.1, 0.5, 1.0], np.float32))
    assert late[:, -1].tolist() == pytest.approx([0.1, 0.5, 1.0])
    with pytest.raises(DataError, match="clock"):
        model.inputs(frames, state)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"frames": {"front": np.zeros((3, SIZE, SIZE, 3), np.uint8)}}, "missing wrist"),
        ({"state": np.zeros((3, 5), np.float32)}, r"state must be \(T, 2\) for a.pos, b.pos"),
        ({"action": None}, "reads the action"),
        ({"action": np.zeros((3, 7), np.float32)}, r"action \(step\) must be \(3, 2\)"),
        ({"state": np.array([[0, 0], [0, np.nan], [0, 0]], np.float32)}, "moment 1 .* not finite"),
    ],
)
def test_wrong_moments_are_refused(change: dict[str, object], says: str) -> None:
    frames, state = moments()
    given = {"frames": frames, "state": state, "action": np.zeros((3, 2), np.float32)} | change
    with pytest.raises(DataError, match=says):
        SvmRewardModel(config("step")).inputs(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"action": "torque"}, {"action": "noise", "latent_dim": 0}, {"beta": 0.0}])
def test_senseless_configurations_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        replace(config(), **wrong)  # type: ignore[arg-type]


def test_probability_is_cooled_by_the_temperature_and_the_logit_is_not() -> None:
    model = SvmRewardModel(config("none", cameras={}))
    inputs = torch.randn(8, 2)
    raw = model.logits(inputs)
    model.config.temperature = 4.0
    assert torch.equal(model.logits(inputs), raw)
    assert torch.allclose(model.probability(inputs), torch.sigmoid(raw / 4))


# -- LeRobot ---------------------------------------------------------------------------------------------------------


def lerobot_batch(count: int = 4) -> dict[str, torch.Tensor]:
    frames, state = moments(count)
    pictures = {f"observation.images.{r}": torch.from_numpy(f).permute(0, 3, 1, 2) / 255 for r, f in frames.items()}
    return pictures | {
        "observation.state": torch.from_numpy(state),
        "action": torch.from_numpy(state) + 1,
        "next.success": torch.tensor([[True], [False], [False], [True]])[:count],
        "episode_index": torch.tensor([0, 1, 2, 3])[:count],
    }


def test_lerobots_factory_makes_saves_and_loads_it(tmp_path: Path) -> None:
    model = make_reward_model(make_reward_model_config("svm", joints=list(JOINTS), cameras=CAMERAS, device="cpu"))
    assert isinstance(model, SvmRewardModel)
    assert model.is_trainable
    model.config.metrics = {"auc": [0.9, 0.8, 1.0]}
    model.save_pretrained(tmp_path / "reward")
    loaded_config = RewardModelConfig.from_pretrained(tmp_path / "reward")
    loaded_config.pretrained_path = str(tmp_path / "reward")
    loaded = make_reward_model(loaded_config)
    batch = lerobot_batch()
    assert torch.equal(loaded.compute_reward(batch), model.compute_reward(batch))
    assert loaded.config.metrics == {"auc": [0.9, 0.8, 1.0]}
    assert list(loaded.config.cameras) == list(CAMERAS)


def test_labels_and_noise_survive_the_processors() -> None:
    before, _ = make_reward_pre_post_processors(config("step"))
    batch = before(lerobot_batch() | {"svm.latent": torch.ones(4, 5), "frame_index": torch.arange(4)})
    assert {"next.success", "svm.latent", "frame_index", "episode_index"} <= batch.keys()


def test_a_lerobot_batch_and_recorded_frames_give_the_same_logit() -> None:
    model = SvmRewardModel(config("step"))
    frames, state = moments(4)
    ours = model.logits(model.inputs(frames, state, state + 1))
    assert torch.allclose(model.compute_reward(lerobot_batch()), ours, atol=1e-5)


def test_compute_reward_is_clipped() -> None:
    model = SvmRewardModel(config("step", beta=0.01))
    torch.nn.init.constant_(model.head[-1].bias, 5.0)
    assert model.compute_reward(lerobot_batch()).tolist() == pytest.approx([0.01] * 4)


def test_training_lowers_the_loss_and_reaches_the_encoder() -> None:
    model = SvmRewardModel(config("step", lr=1e-2))
    optimizer = torch.optim.Adam(model.get_optim_params(), lr=1e-2)
    losses = []
    for _ in range(30):
        loss, _ = model.forward(lerobot_batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    assert model.encoder is not None
    assert all(p.grad is not None for p in model.encoder.parameters())


def test_a_frozen_encoder_is_not_trained() -> None:
    model = SvmRewardModel(config("step", freeze_encoder=True))
    model.forward(lerobot_batch())[0].backward()
    assert model.encoder is not None
    assert all(p.grad is None for p in model.encoder.parameters())
    assert len(model.get_optim_params()) == len(list(model.head.parameters()))


def test_unlabelled_episodes_weigh_nothing_and_outcomes_weigh_the_same() -> None:
    model = SvmRewardModel(config("step"))
    model.labels = {0: True, 1: False, 2: False}
    label, weight = model._batch_labels(lerobot_batch())
    assert label.tolist() == [1, 0, 0, 0]
    assert weight.tolist() == [2, 1, 1, 0]


def test_a_batch_without_labels_is_refused() -> None:
    batch = lerobot_batch()
    del batch["next.success"]
    with pytest.raises(DataError, match=r"next\.success"):
        SvmRewardModel(config("step")).forward(batch)


def test_a_new_model_describes_itself_from_the_dataset_lerobot_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svm_robot.reward.modeling_svm.episode_labels", lambda config, meta: {0: True, 1: False})
    features = {
        "observation.state": {"dtype": "float32", "shape": (2,), "names": list(JOINTS)},
        "observation.images.front": {"dtype": "video", "shape": (8, 16, 3), "names": ["height", "width", "channels"]},
        "svm.latent": {"dtype": "float32", "shape": (5,), "names": None},
    }
    meta = SimpleNamespace(features=features, root="somewhere/demos", fps=10, robot_type="toy")
    stats = {"observation.state": {"mean": [1.0, 2.0], "std": [3.0, 0.0]}}
    model = SvmRewardModel(SvmConfig(action="noise", device="cpu"), dataset_stats=stats, dataset_meta=meta)
    assert (model.config.joints, model.config.cameras) == (list(JOINTS), {"front": [8, 16]})
    assert (model.config.latent_dim, model.config.rate_hz) == (5, 10.0)
    assert model.state_std.tolist() == [3.0, 1.0]
    with pytest.raises(CheckpointError, match="was made for"):
        SvmRewardModel(config("step"), dataset_meta=meta)


# -- checkpoints -----------------------------------------------------------------------------------------------------


def test_save_refuses_to_overwrite_unless_told(tmp_path: Path) -> None:
    model = SvmRewardModel(config("none"))
    save_reward(model, tmp_path / "reward")
    with pytest.raises(CheckpointError, match="exists already"):
        save_reward(model, tmp_path / "reward")
    torch.nn.init.constant_(model.head[-1].bias, 3.0)
    save_reward(model, tmp_path / "reward", overwrite=True)
    assert load_reward(tmp_path / "reward").head[-1].bias.item() == 3.0
    assert [p.name for p in tmp_path.iterdir()] == ["reward"]
    (tmp_path / "photos").mkdir()
    with pytest.raises(CheckpointError, match="no reward checkpoint"):
        save_reward(model, tmp_path / "photos", overwrite=True)


def test_load_names_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no reward checkpoint at"):
        load_reward(tmp_path / "nothing")
    save_reward(SvmRewardModel(config("none")), tmp_path / "reward")
    weights = tmp_path / "reward" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_reward(tmp_path / "reward")
    (tmp_path / "reward" / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read as a reward"):
        load_reward(tmp_path / "reward")
    weights.unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors missing"):
        load_reward(tmp_path / "reward")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (ToySpec(cameras={"wrist": (24, 40)}), "no camera front"),
        (ToySpec(cameras={"front": (SIZE, SIZE), "wrist": (24, 40), "top": (8, 8)}), "unknown camera top"),
        (ToySpec(cameras={"front": (24, 40), "wrist": (SIZE, SIZE)}), "camera front gives 24x40 instead of 32x32"),
        (ToySpec(joints=("b.pos", "a.pos")), "joints in another order: b.pos, a.pos"),
        (ToySpec(joints=("a.pos",)), "no joint b.pos"),
        (ToySpec(robot_type="other"), "robot other instead of toy"),
        (ToySpec(rate_hz=30.0), "30 Hz instead of 10 Hz"),
    ],
)
def test_another_robot_is_refused_by_name(spec: ToySpec, says: str) -> None:
    model = SvmRewardModel(config("none", robot_type="toy", rate_hz=10.0))
    check_fits(model, ToySpec(cameras={"wrist": (24, 40), "front": (SIZE, SIZE)}))
    with pytest.raises(CheckpointError, match=says):
        check_fits(model, spec)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
