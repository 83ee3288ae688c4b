"""Metrics against values worked out by hand."""

import numpy as np
import pytest

from svm_robot.reward.metrics import Interval, auc, balanced_weights, bootstrap, brier, calibration_error


def test_auc_counts_pairs() -> None:
    # successes .9 and .4, failures .5 and .1: of four pairs three are in the right order
    assert auc([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]) == pytest.approx(0.75)


def test_auc_ties_count_half() -> None:
    assert auc([1, 1, 1, 0], [1, 0, 1, 0]) == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)


def test_auc_weight_is_repetition() -> None:
    scores, labels, weights = [0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0], [1, 3, 2, 1]
    again = np.repeat(np.arange(4), weights)
    assert auc(scores, labels, weights) == pytest.approx(auc(np.array(scores)[again], np.array(labels)[again]))


def test_auc_of_one_class_is_an_error_and_no_number() -> None:
    with pytest.raises(ValueError, match="successes and failures"):
        auc([0.1, 0.2], [1, 1])


def test_not_finite_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="1 of 2"):
        auc([0.1, float("nan")], [1, 0])


def test_brier() -> None:
    assert brier([1.0, 0.5, 0.2], [1, 0, 0]) == pytest.approx((0 + 0.25 + 0.04) / 3)


def test_calibration_error() -> None:
    # two bins: .9 .9 with one success of two (gap .4), .1 .1 with none (gap .1)
    assert calibration_error([0.9, 0.9, 0.1, 0.1], [1, 0, 0, 0]) == pytest.approx((0.4 + 0.1) / 2)
    assert calibration_error([1.0, 0.0], [1, 0]) == pytest.approx(0.0)


def test_balanced_weights_give_each_outcome_half() -> None:
    assert balanced_weights([1, 0, 0, 0]).tolist() == pytest.approx([0.5, 1 / 6, 1 / 6, 1 / 6])


def test_bootstrap_resamples_episodes_and_not_frames() -> None:
    """Two episodes of a hundred equal frames each are two observations, not two hundred."""
    episodes, labels = np.repeat([0, 1, 2, 3], 100), np.repeat([1, 1, 0, 0], 100)
    values = np.repeat([0.0, 1.0, 0.0, 1.0], 100)
    interval = bootstrap(lambda weight: float(np.average(values, weights=weight)), episodes, labels)
    assert interval.value == pytest.approx(0.5)
    assert interval.low <= 0.25
    assert interval.high >= 0.75


def test_bootstrap_always_draws_both_outcomes() -> None:
    interval = bootstrap(lambda weight: auc([1, 0, 0, 0], [1, 0, 0, 0], weight), [0, 1, 2, 3], [1, 0, 0, 0])
    assert interval == Interval(1.0, 1.0, 1.0)


def test_bootstrap_same_seed_same_interval() -> None:
    values = np.arange(10.0)

    def mean(weight: np.ndarray) -> float:
        return float(np.average(values, weights=weight))

    assert bootstrap(mean, range(10), [0] * 10, seed=4) == bootstrap(mean, range(10), [0] * 10, seed=4)
    assert bootstrap(mean, range(10), [0] * 10, seed=4) != bootstrap(mean, range(10), [0] * 10, seed=5)
