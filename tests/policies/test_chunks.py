"""Chunks at episode ends, and statistics that neither see padding nor divide by zero."""

import numpy as np
import pytest

from svm_robot.errors import DataError
from svm_robot.policies.chunks import statistics, windows


def test_windows_repeat_the_last_target_and_mark_it() -> None:
    action = np.arange(5, dtype=np.float32)[:, None]
    chunks, padded = windows(action, 3)
    assert chunks[:, :, 0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 4], [4, 4, 4]]
    assert padded.sum(axis=1).tolist() == [0, 0, 0, 1, 2]


def test_an_episode_shorter_than_a_chunk() -> None:
    chunks, padded = windows(np.ones((2, 4), np.float32), 5)
    assert chunks.shape == (2, 5, 4) and padded.tolist() == [[False] * 2 + [True] * 3, [False] + [True] * 4]


def test_statistics_are_those_of_the_deltas_without_padding() -> None:
    rng = np.random.default_rng(0)
    episodes = [
        (rng.normal(5, 2, (n, 2)).astype(np.float32), rng.normal(0, 3, (n, 2)).astype(np.float32)) for n in (9, 4)
    ]
    got = statistics(episodes, chunk=3)
    second = np.concatenate([action[1:] - state[:-1] for state, action in episodes])  # position 1 of every whole chunk
    np.testing.assert_allclose(got.delta_mean[1], second.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(got.delta_std[1], second.std(axis=0), rtol=1e-5)
    np.testing.assert_allclose(got.state_mean, np.concatenate([s for s, _ in episodes]).mean(axis=0), rtol=1e-5)


def test_a_joint_that_never_moves_has_deviation_zero() -> None:
    state = np.stack([np.full(6, 0.1), np.arange(6)], axis=1).astype(np.float32)
    got = statistics([(state, state + np.float32(2))], chunk=1)
    assert got.state_std[0] == 0 and got.state_std[1] > 1
    assert got.delta_std.tolist() == [[0, 0]]
    np.testing.assert_allclose(got.delta_mean, [[2, 2]], rtol=1e-6)


def test_nothing_and_nan_are_refused() -> None:
    with pytest.raises(DataError, match="no episode"):
        statistics([], 4)
    bad = np.full((3, 2), np.nan, np.float32)
    with pytest.raises(DataError, match="not finite"):
        statistics([(bad, bad)], 2)
