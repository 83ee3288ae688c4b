"""Wilson's interval against published values and its own properties."""

import pytest

from svm_robot.stats import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # E. B. Wilson's interval with z = 1.96; the first row is the example of Newcombe, Stat. Med. 17 (1998), table I
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_values(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


def test_nothing_tried_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("trials", [1, 7, 100])
def test_it_is_symmetric_and_holds_the_rate(trials: int) -> None:
    for successes in range(trials + 1):
        low, high = wilson(successes, trials)
        mirrored_low, mirrored_high = wilson(trials - successes, trials)
        assert (low, high) == pytest.approx((1 - mirrored_high, 1 - mirrored_low))
        assert 0 <= low <= successes / trials <= high <= 1


def test_more_trials_narrow_it_and_more_confidence_widens_it() -> None:
    def width(trials: int, z: float = 1.96) -> float:
        low, high = wilson(trials // 2, trials, z)
        return high - low

    assert width(10) > width(100) > width(1000)
    assert width(100, z=2.58) > width(100)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        wilson(successes, trials)
