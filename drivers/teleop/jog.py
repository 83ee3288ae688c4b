"""Joints moved with the keys of a terminal: no display, no leader arm, works over SSH."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.teleop.leader import Seen

FloatArray = NDArray[np.float32]

STEP, LEAST_STEP, MOST_STEP = 2.0, 0.25, 16.0
"""By how much one key press moves a joint [robot units; degrees on an SO-101]."""
AHEAD = 15.0
"""A target runs at most so far ahead of the joint, so that it stops soon after the key is let go [robot units]."""
HELP = "1-9 or left/right choose a joint, up/down move it, o/c open and close the gripper, +/- change the step"
GRIPPER_KEYS = {"o": 1.0, "c": -1.0}


class JogHand:
    """A ``Hand``. ``limits``: joint key -> (lower, upper), where they are known."""

    source = "human"
    latent: FloatArray | None = None

    def __init__(self, joints: Sequence[str], limits: Mapping[str, tuple[float, float]] | None = None) -> None:
        self.joints = tuple(joints)
        limits = limits or {}
        self._low = np.array([limits.get(joint, (-np.inf, np.inf))[0] for joint in self.joints])
        self._high = np.array([limits.get(joint, (-np.inf, np.inf))[1] for joint in self.joints])
        self.step, self.chosen = STEP, 0
        self._target: FloatArray | None = None
        self._moves = np.zeros(len(self.joints), np.float32)

    @property
    def joint(self) -> str:
        """The one that up and down move."""
        return self.joints[self.chosen]

    def reset(self, seed: int | None = None) -> None:
        """Stay where the robot is."""
        self._target = None
        self._moves[:] = 0

    def begin(self, position: FloatArray) -> None:
        """See ``Hand``. What was typed before counts for nothing."""
        self._moves[:] = 0
        self._target = np.asarray(position, np.float32).copy()

    def press(self, key: str) -> None:
        """See ``Hand``."""
        match key:
            case "up" | "down":
                self._moves[self.chosen] += self.step if key == "up" else -self.step
            case "left" | "right":
                self.chosen = (self.chosen + (1 if key == "right" else -1)) % len(self.joints)
            case "+" | "=":
                self.step = min(MOST_STEP, 2 * self.step)
            case "-":
                self.step = max(LEAST_STEP, self.step / 2)
            case "o" | "c":
                for index, joint in enumerate(self.joints):
                    if "gripper" in joint:
                        self._moves[index] += 2 * self.step * GRIPPER_KEYS[key]
            case _ if key.isdigit() and 0 < int(key) <= len(self.joints):
                self.chosen = int(key) - 1

    def act(self, observation: Seen) -> FloatArray:
        """See ``Hand``: the keys since the last call move the target; without any it stays."""
        state = np.asarray(observation.state, np.float32)
        if self._target is None:
            self._target = state.copy()
        moved = self._moves != 0
        asked = np.clip(self._target + self._moves, self._low, self._high)
        # a joint that nobody moves keeps its target: an arm that sags under its weight must not creep down
        held = np.clip(asked, np.minimum(self._target, state - AHEAD), np.maximum(self._target, state + AHEAD))
        self._target = np.where(moved, held, self._target).astype(np.float32)
        self._moves[:] = 0
        return self._target[None].copy()

    def wants(self) -> bool | None:
        """Keys are pressed, not held."""
        return None
