"""Which rows of an episode are examples, and which action goes with them."""

from dataclasses import replace

import numpy as np
import pytest
from reward_episodes import dataset, episode

from svm_robot.errors import DataError
from svm_robot.reward.fit import chunk_of, new_config
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.samples import action_rows, collect, contradictory_twins, decision_rows, learning_rows
from svm_robot.rollout.episode import Outcome


def test_decisions_where_there_are_some_every_kth_row_else() -> None:
    one = episode(0, Outcome.SUCCESS, steps=10)
    assert decision_rows(one, 3).tolist() == [0, 4, 8]
    assert decision_rows(replace(one, decision=np.ones(10, bool)), 3).tolist() == [0, 3, 6, 9]


def test_a_chunk_cut_short_by_the_end_is_no_example() -> None:
    """Only successes end early: a classifier would learn that short chunks succeed."""
    data = dataset(4, 4, steps=10)
    config = new_config(data, "chunk", device="cpu")
    assert learning_rows(data.episodes[0], config).tolist() == [0, 4]
    assert learning_rows(data.episodes[0], replace(config, action="step")).tolist() == [0, 4, 8]


def test_action_rows() -> None:
    data = dataset(4, 4, steps=10)
    one, rows = data.episodes[0], np.array([0, 8])
    config = new_config(data, "chunk", device="cpu")
    chunk = action_rows(one, rows, config)
    assert chunk is not None
    assert np.array_equal(chunk[0], one.action[:4])
    assert np.array_equal(chunk[1], one.action[[8, 9, 9, 9]])
    assert np.array_equal(action_rows(one, rows, replace(config, action="step")), one.action[rows])
    assert action_rows(one, rows, replace(config, action="none")) is None
    noise = replace(config, action="noise", latent_dim=6)
    assert np.array_equal(action_rows(one, rows, noise), one.latent[rows])  # type: ignore[index]


def test_an_episode_without_noise_is_named() -> None:
    data = dataset(4, 4, steps=10)
    config = new_config(data, "noise", device="cpu")
    with pytest.raises(DataError, match="episode 3 has no noise"):
        action_rows(replace(data.episodes[0], index=3, latent=None), np.array([0]), config)
    with pytest.raises(DataError, match="no episode has noise"):
        new_config(replace(data, episodes=[replace(e, latent=None) for e in data.episodes]), "noise", device="cpu")


def test_collect_keeps_label_episode_order_and_clock_beside_each_moment() -> None:
    data = dataset(4, 4, steps=8)
    config = new_config(data, "none", device="cpu")
    samples = collect(SvmRewardModel(config), data.episodes[:3])
    assert samples.inputs.shape == (6, config.input_dim)
    assert samples.episode.tolist() == [0, 0, 1, 1, 2, 2]
    assert samples.order.tolist() == [0, 1] * 3
    assert samples.progress.tolist() == [0.0, 0.5] * 3
    assert samples.success.tolist() == list(np.repeat([e.outcome == "success" for e in data.episodes[:3]], 2))
    assert len(samples.of(success=True)) + len(samples.of(success=False)) == 6


def test_the_chunk_is_read_off_the_decisions() -> None:
    assert chunk_of(dataset(2, 2, steps=13, chunk=5).episodes) == 5
    every = [replace(e, decision=np.ones(len(e), bool)) for e in dataset(2, 2).episodes]
    assert chunk_of(every) == 4


def test_contradictory_twins_are_listed() -> None:
    data = dataset(4, 4, steps=6).episodes
    good = next(e for e in data if e.outcome is Outcome.SUCCESS)
    twin = replace(good, index=50, outcome=Outcome.FAILURE)
    assert contradictory_twins([*data, twin]) == [(good.index, 50)]
    frames = {role: pictures.copy() for role, pictures in good.frames.items()}
    frames["wrist"][3, 0, 0, 0] ^= 1
    assert contradictory_twins([*data, replace(twin, frames=frames)]) == []
    assert contradictory_twins([*data, replace(good, index=50)]) == []
