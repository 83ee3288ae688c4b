"""A policy that a person may interrupt at any step, and give the robot back to."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.teleop.hand import Hand

FloatArray = NDArray[np.float32]

KEY = "t"
HELP = f"{KEY} take over, {KEY} again give back"


class TakeOver:
    """Satisfies the policy's seam and the listener's: as a listener it learns what was really sent.

    ``source`` changes when the person takes over, so the loop drops the rest of the policy's chunk and asks at once.
    The person's first target is the last one sent, whoever sent it: no jump. When the robot is given back, the policy
    acts from what it sees then, and the safety limits bound its first step like any other.
    """

    needs_every_frame = False

    def __init__(self, policy: Any, hand: Hand) -> None:
        """``policy``: whoever acts otherwise; one that counts control steps has ``resume(step)``."""
        self.policy, self.hand = policy, hand
        self.taken = False
        """True while the person acts, or is about to."""
        self._acted: str = ""
        self._sent: FloatArray | None = None
        self._steps = 0

    @property
    def source(self) -> str:
        """Who acts now; see ``Policy``."""
        return str(self.hand.source if self.taken else self.policy.source)

    @property
    def latent(self) -> FloatArray | None:
        """The noise behind the policy's chunk; a person has none."""
        return None if self.taken else self.policy.latent

    def reset(self, seed: int | None = None) -> None:
        """A new episode begins with the policy."""
        self.taken, self._acted, self._sent, self._steps = False, "", None, 0
        self.policy.reset(seed)
        self.hand.reset(seed)

    def act(self, observation: Any) -> FloatArray:
        """(c, J) the next chunk of whoever acts."""
        before, self._acted = self._acted, self.source
        if self.taken:
            if before != self._acted:
                self.hand.begin(observation.state if self._sent is None else self._sent)
            return self.hand.act(observation)
        if before not in ("", self._acted) and hasattr(self.policy, "resume"):
            self.policy.resume(self._steps)
        chunk: FloatArray = self.policy.act(observation)
        return chunk

    def press(self, key: str) -> None:
        """A key of the terminal: ``t`` takes over and gives back, the others are the hand's."""
        if key == KEY:
            self.taken = not self.taken
        elif self.taken:
            self.hand.press(key)

    def on_start(self, start: object) -> None:
        """See ``Listener``."""

    def on_step(self, step: Any) -> None:
        """See ``Listener``; a device with a trigger is asked here."""
        self._sent, self._steps = np.asarray(step.sent, np.float32), int(step.index) + 1
        wants = self.hand.wants()
        if wants is not None:
            self.taken = wants

    def on_end(self, end: object) -> None:
        """See ``Listener``."""
