"""Between a command and the joints: delay, play of the gears, motors without torque, and jaws that slip."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svm_robot.drivers.joints import GRIPPER, MOTORS
from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.graphics import mujoco

_COUNT = len(MOTORS)
_SLIP_S = (0.05, 0.30)
"""Shortest and longest loss of grip [s]."""
_SLIPPERY = (0.001, 0.0, 0.0)


class Actuation:
    """Drives the six position actuators of one MuJoCo world."""

    def __init__(self, model: Any, data: Any, disturbance: Disturbance) -> None:
        self.model, self.data, self.disturbance = model, data, disturbance
        self.force_limit = model.actuator_forcerange[:_COUNT, 1].copy()
        self._gain, self._bias = model.actuator_gainprm[:_COUNT].copy(), model.actuator_biasprm[:_COUNT].copy()
        self._jaws = [model.geom(name).id for name in ("fixed_jaw", "moving_jaw")]
        self._friction = model.geom_friction[self._jaws[0]].copy()
        self.play = np.full(_COUNT, np.radians(disturbance.backlash_deg) / 2)
        self.play[GRIPPER] = 0.0
        self.enabled: NDArray[np.bool_] = np.ones(_COUNT, bool)
        self.queue: list[tuple[float, NDArray[np.float64]]] = []
        self.slip_until_s = 0.0
        self.slip_rng = np.random.default_rng(0)

    def reset(self, radians: ArrayLike, slip_rng: np.random.Generator) -> None:
        """Hold ``radians`` (6,); nothing on its way, all motors on."""
        self.queue.clear()
        self.slip_until_s, self.slip_rng = 0.0, slip_rng
        self.torque(np.ones(_COUNT, bool))
        self._grip(slipping=False)
        self.data.ctrl[:_COUNT] = radians

    def command(self, radians: NDArray[np.float64]) -> None:
        """New targets (6,) [rad]; they arrive after the delay."""
        if self.disturbance.delay_s > 0:
            self.queue.append((self.data.time + self.disturbance.delay_s, radians.copy()))
        else:
            self._turn(radians)

    def torque(self, enabled: NDArray[np.bool_]) -> None:
        """Switch motors on or off. A motor switched off pulls at nothing and carries nothing."""
        self.enabled = enabled.copy()
        self.model.actuator_gainprm[:_COUNT] = np.where(enabled[:, None], self._gain, 0)
        self.model.actuator_biasprm[:_COUNT] = np.where(enabled[:, None], self._bias, 0)
        self._drop_limp()

    def load(self) -> NDArray[np.float32]:
        """(6,) motor effort as a share of the greatest one, -1..1."""
        effort: NDArray[np.float32] = np.clip(self.data.actuator_force[:_COUNT] / self.force_limit, -1, 1).astype(
            np.float32
        )
        return effort

    def step(self, steps: int) -> None:
        """Advance the physics by ``steps`` time steps."""
        if not self.queue and self.enabled.all() and self.disturbance.slip == 0:
            mujoco.mj_step(self.model, self.data, steps)
            return
        for _ in range(steps):
            # Half a time step of slack: sums of time steps are not exact.
            while self.queue and self.queue[0][0] <= self.data.time + self.model.opt.timestep / 2:
                self._turn(self.queue.pop(0)[1])
            self._slip()
            mujoco.mj_step(self.model, self.data)
            self._drop_limp()

    def snapshot(self) -> dict[str, Any]:
        """What is on its way, as plain values; the targets themselves are part of the physics state."""
        return {
            "queue": [[due_s, radians.tolist()] for due_s, radians in self.queue],
            "enabled": self.enabled.tolist(),
            "slip_until_s": self.slip_until_s,
            "slip_rng": self.slip_rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """The reverse of ``snapshot``; call it before the physics state is restored."""
        self.queue = [(due_s, np.array(radians)) for due_s, radians in state["queue"]]
        self.torque(np.array(state["enabled"], bool))
        self.slip_until_s = state["slip_until_s"]
        self.slip_rng.bit_generator.state = state["slip_rng"]
        self._grip(slipping=self.slip_until_s > 0)

    def _turn(self, radians: NDArray[np.float64]) -> None:
        """A gear with play follows only when the command pushes one side of the gap."""
        held = self.data.ctrl[:_COUNT]
        self.data.ctrl[:_COUNT] = np.clip(held, radians - self.play, radians + self.play)

    def _drop_limp(self) -> None:
        """The model carries its own weight for the motors; a limp joint gets that weight back."""
        self.data.qfrc_applied[:_COUNT] = np.where(self.enabled, 0, -self.data.qfrc_gravcomp[:_COUNT])

    def _slip(self) -> None:
        if self.disturbance.slip == 0:
            return
        if self.slip_until_s and self.data.time >= self.slip_until_s:
            self.slip_until_s = 0.0
            self._grip(slipping=False)
        if self.slip_rng.random() < self.disturbance.slip * self.model.opt.timestep:
            self.slip_until_s = self.data.time + self.slip_rng.uniform(*_SLIP_S)
            self._grip(slipping=True)

    def _grip(self, slipping: bool) -> None:
        self.model.geom_friction[self._jaws] = _SLIPPERY if slipping else self._friction
