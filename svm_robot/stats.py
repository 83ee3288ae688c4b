"""Small statistics every room needs: a success rate is never shown without its interval."""

from math import sqrt


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson score interval of a success rate (95 % for the default z); (0, 1) when nothing was tried.

    Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927).
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..{trials}, got {successes}")
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if successes == 0 else centre - half  # exact at the ends, where rounding would leave the rate outside
    high = 1.0 if successes == trials else centre + half
    return low, high
