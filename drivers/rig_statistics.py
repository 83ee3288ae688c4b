"""How well the loop over a rig kept time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from svm_robot.drivers.ticker import Ticker


@dataclass(frozen=True)
class RigStatistics:
    """How well the loop kept time since the rig was opened."""

    ticks: int
    missed: int
    """Ticks left out because the loop came back too late."""
    lateness_p99_s: float
    lateness_max_s: float
    frame_age_mean_s: Mapping[str, float]
    """Camera role -> mean age of its frames when they were handed out."""
    frame_age_max_s: Mapping[str, float]

    def __str__(self) -> str:
        ages = [
            f"{role} pictures {1e3 * mean:.0f} ms old (at most {1e3 * self.frame_age_max_s[role]:.0f})"
            for role, mean in self.frame_age_mean_s.items()
        ]
        late = f"late by {1e3 * self.lateness_p99_s:.1f} ms (p99), {1e3 * self.lateness_max_s:.1f} ms at most"
        return ", ".join([f"{self.missed} of {self.ticks + self.missed} ticks missed", late, *ages])


def rig_statistics(ticker: Ticker, ages_s: Mapping[str, Sequence[float]]) -> RigStatistics:
    """The figures of a ticker and of the ages of the pictures, camera role -> each age [s]."""
    late = ticker.lateness_s or [0.0]
    seen = {role: ages for role, ages in ages_s.items() if ages}
    return RigStatistics(
        ticks=ticker.ticks,
        missed=ticker.missed,
        lateness_p99_s=float(np.percentile(late, 99)),
        lateness_max_s=max(late),
        frame_age_mean_s={role: float(np.mean(ages)) for role, ages in seen.items()},
        frame_age_max_s={role: max(ages) for role, ages in seen.items()},
    )
