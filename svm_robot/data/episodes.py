"""One recorded episode in memory, as the method reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svm_robot.rollout.env import FloatArray, ImageArray
from svm_robot.rollout.episode import Outcome


@dataclass(frozen=True)
class EpisodeData:
    """T control steps. Row t holds what was seen before action t was sent."""

    index: int
    uid: int
    outcome: Outcome | None
    """Current view of the label log; None when nobody has labelled the episode."""
    task: str
    state: FloatArray
    """(T, J) joint positions, robot units."""
    action: FloatArray
    """(T, J) targets sent to the motors, robot units."""
    decision: NDArray[np.bool_]
    """(T,) True where an action chunk begins."""
    latent: FloatArray | None
    """(T, d) noise behind the chunk in hand, where the policy had one."""
    terminated: bool
    """True when the episode ended by success (its last step bootstraps from nothing)."""
    frames: Mapping[str, ImageArray] = field(default_factory=dict)
    """Camera role -> (T, H, W, 3) RGB."""
    intervention: NDArray[np.bool_] | None = None
    """(T,) True where a human acted although a policy or a script ran it; None where the recording does not say."""

    def __len__(self) -> int:
        return len(self.state)
