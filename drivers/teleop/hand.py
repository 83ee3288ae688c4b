"""A person's hand on the robot: a policy that can begin anywhere without a jump."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.teleop.leader import Seen, TeleopPolicy

FloatArray = NDArray[np.float32]

ABSORBED = 0.5
"""Share of the leader's own motion by which the distance between leader and follower shrinks."""


class Hand(Protocol):
    """Satisfies the policy's seam, and more."""

    @property
    def source(self) -> str:
        """``human``."""

    @property
    def latent(self) -> FloatArray | None:
        """None."""

    def reset(self, seed: int | None = None) -> None:
        """A new episode."""

    def begin(self, position: FloatArray) -> None:
        """The person takes over; (J,) ``position`` is the last target sent, and the first one of theirs."""

    def act(self, observation: Seen) -> FloatArray:
        """(1, J) where the person wants the joints now."""

    def press(self, key: str) -> None:
        """A key of the terminal, as ``KeyReader.keys`` names it; hands that use none ignore it."""

    def wants(self) -> bool | None:
        """True or False where the device itself says whether the person acts (a trigger); None: it does not."""


class RelativeHand:
    """A leader arm that goes on from where the follower is: it moves by as much as the leader does.

    The difference between the two shrinks only while the leader moves, by a part of that motion. So nothing moves by
    itself, and after some movements leader and follower stand alike.
    """

    source = "human"
    latent: FloatArray | None = None

    def __init__(self, leader: TeleopPolicy) -> None:
        self.leader = leader
        self._before: FloatArray | None = None
        self._offset: FloatArray | None = None
        self._start: FloatArray | None = None

    @property
    def distance(self) -> float:
        """How far follower and leader stand apart, in the joint where it is most [robot units]."""
        return 0.0 if self._offset is None else float(np.max(np.abs(self._offset)))

    def reset(self, seed: int | None = None) -> None:
        """Begin anew at the next ``begin``, or where the robot is."""
        self._before = self._offset = self._start = None

    def begin(self, position: FloatArray) -> None:
        """See ``Hand``."""
        self.reset()
        self._start = np.asarray(position, np.float32).copy()

    def act(self, observation: Seen) -> FloatArray:
        """See ``Hand``. Raises ``DeviceError`` when the leader does not answer."""
        here = self.leader.act(observation)[0]
        if self._before is None or self._offset is None:
            start = observation.state if self._start is None else self._start
            self._offset = np.asarray(start - here, np.float32)
        else:
            room = ABSORBED * np.abs(here - self._before)
            self._offset = np.sign(self._offset) * np.maximum(0, np.abs(self._offset) - room)
        self._before = here
        return np.asarray(here + self._offset, np.float32)[None]

    def press(self, key: str) -> None:
        """A leader arm has no keys."""

    def wants(self) -> bool | None:
        """A leader arm has no trigger."""
        return None
