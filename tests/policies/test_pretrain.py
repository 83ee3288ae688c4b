"""Cloning: which episodes, whole episodes held out, repeatable, and it really learns two ways of doing a thing."""

import dataclasses

import numpy as np
import pytest
import torch
from toy_flow import dataset, episode, tiny_config

from svm_robot.data import Dataset
from svm_robot.errors import ConfigError, DataError
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.policies.pretrain import PretrainConfig, PretrainReport, pretrain, split, usable
from svm_robot.rollout import Outcome
from svm_robot.vision.encoder import fingerprint

GOOD, BAD = Outcome.SUCCESS, Outcome.FAILURE


def test_what_is_cloned() -> None:
    episodes = [episode(n, o, length=2) for n, o in enumerate([GOOD, BAD, Outcome.UNSURE, Outcome.ABORTED, None, GOOD])]
    assert [e.index for e in usable(episodes, "all")] == [0, 1, 4, 5]
    assert [e.index for e in usable(episodes, "success")] == [0, 5]
    with pytest.raises(DataError, match=r"1 of 3 episodes can be cloned with --on=success.*at least 2"):
        usable(episodes[:3], "success")


@pytest.mark.parametrize(("count", "share", "held"), [(20, 0.1, 2), (2, 0.1, 1), (3, 0.99, 2)])
def test_whole_episodes_are_held_out(count: int, share: float, held: int) -> None:
    episodes = [episode(n, GOOD, length=1) for n in range(count)]
    train, unseen = split(episodes, share, seed=0)
    assert len(unseen) == held
    assert sorted([e.uid for e in train] + [e.uid for e in unseen]) == [e.uid for e in episodes]
    assert count < 10 or [e.uid for e in split(episodes, share, seed=1)[1]] != [e.uid for e in unseen]


def two_ways() -> Dataset:
    """From the same place, in the same picture, every second episode walks up by 8 and the others down by 8."""
    rng = np.random.default_rng(0)
    template, steps = dataset([GOOD]), 12
    picture = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
    episodes = []
    for number in range(12):
        state = rng.normal(0, 1, (steps, 2)).astype(np.float32)
        action = state + (8 if number % 2 else -8) + rng.normal(0, 0.5, (steps, 2)).astype(np.float32)
        frames = {"front": np.broadcast_to(picture, (steps, 16, 16, 3)).copy()}
        first = template.episodes[0]
        episodes.append(dataclasses.replace(first, index=number, state=state, action=action, frames=frames))
    return dataclasses.replace(template, episodes=episodes, cameras={"front": (16, 16)})


@pytest.fixture(scope="module")
def trained() -> tuple[SvmFlowPolicy, PretrainReport]:
    config = tiny_config(chunk=2, hidden=48, noise_draws=8)
    return pretrain(two_ways(), PretrainConfig(steps=400, batch=32, lr=5e-3), config)


def test_it_learns_both_modes_and_the_noise_picks_between_them(trained: tuple[SvmFlowPolicy, PretrainReport]) -> None:
    policy, _ = trained
    start = two_ways().episodes[0]
    features = torch.from_numpy(policy.encode({"front": start.frames["front"][:1]})).expand(400, -1)
    state, noise = torch.zeros(400, 2), torch.randn(400, 4, generator=torch.Generator().manual_seed(0))
    first = policy.generate(features, state, noise)[:, 0, 0]
    up, down = (first > 3).float().mean().item(), (first < -3).float().mean().item()
    assert up > 0.25 and down > 0.25 and up + down > 0.75, (up, down)  # few between the modes
    again = policy.generate(features[:1], state[:1], noise[first > 3][:1])
    assert again[0, 0, 0] > 3  # the noise that went up goes up again


def test_the_report_says_how_good_it_is(trained: tuple[SvmFlowPolicy, PretrainReport]) -> None:
    policy, report = trained
    assert (report.train_episodes, report.held_out_episodes, report.frames) == (11, 1, 11 * 12)
    assert report.nll_nats < report.nll_nats_normal - 1
    assert report.nll_nats_per_dim == pytest.approx(report.nll_nats / 4)
    assert 0 < report.train_loss < 1.5 and np.isfinite(report.held_out_loss)
    assert report.to_json()["constant"] == []
    config = policy.config
    assert (config.robot_type, config.dataset_id, config.label_hash) == ("toy", "data", "labels")
    assert config.encoder_fingerprint == fingerprint(policy.encoder)


def test_same_seed_same_weights() -> None:
    def weights(seed: int) -> str:
        torch.manual_seed(torch.initial_seed() % 1000 + 1)  # whatever the program drew before
        policy, _ = pretrain(dataset([GOOD, BAD, GOOD]), PretrainConfig(steps=3, batch=4, seed=seed), tiny_config())
        return fingerprint(policy)

    assert weights(0) == weights(0)
    assert weights(0) != weights(1)


def test_a_joint_that_never_moves_is_named_and_harms_nothing() -> None:
    data = dataset([GOOD, BAD, GOOD])
    for one in data.episodes:
        one.state[:, 1] = 3
        one.action[:, 1] = 3
    policy, report = pretrain(data, PretrainConfig(steps=3, batch=4), tiny_config())
    assert report.constant == ("state b.pos", "target b.pos")
    assert np.isfinite([report.train_loss, report.held_out_loss, report.nll_nats]).all()
    start = data.episodes[0]
    vectors = policy.vectors(start.frames, start.state, np.zeros(12, np.float32))
    chunk = policy.generate(
        torch.from_numpy(vectors[:, :64]), torch.from_numpy(start.state), torch.randn(12, policy.config.latent_dim)
    )
    assert torch.equal(chunk[..., 1], torch.full((12, 3), 3.0))


def test_a_loss_that_stops_being_finite_is_an_error_at_once() -> None:
    heard: list[int] = []
    config = PretrainConfig(steps=50, batch=2, lr=1e30)
    with pytest.raises(DataError, match="the loss is"):
        pretrain(dataset([GOOD, BAD]), config, tiny_config(), watch=lambda step, loss: heard.append(step))
    assert len(heard) < 49


def test_watch_hears_every_step() -> None:
    heard: list[int] = []
    config = PretrainConfig(steps=4, batch=2)
    pretrain(dataset([GOOD, BAD]), config, tiny_config(), watch=lambda step, loss: heard.append(step))
    assert heard == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "wrong", [{"on": "failure"}, {"steps": 0}, {"batch": 0}, {"held_out": 0.0}, {"held_out": 1.0}, {"seed": -1}]
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="got"):
        PretrainConfig(**wrong)


def test_episodes_shorter_than_a_chunk_are_refused_in_words() -> None:
    with pytest.raises(DataError, match="as long as a chunk"):
        pretrain(dataset([GOOD, BAD]), PretrainConfig(steps=2, batch=2), tiny_config(chunk=13))
