"""The one MuJoCo world: an SO-101-like arm on a table, reached in lockstep or over the wire."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svm_robot.drivers import joints
from svm_robot.drivers.virtual.actuation import Actuation
from svm_robot.drivers.virtual.appearance import Appearance
from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.graphics import Pictures, mujoco
from svm_robot.drivers.virtual.kinematics import inverse
from svm_robot.drivers.virtual.tasks import CUBE_HALF, find_task
from svm_robot.errors import ConfigError, DataError, DeviceError, UnsafeActionError

FloatArray = NDArray[np.float32]
ImageArray = NDArray[np.uint8]

CAMERAS: Mapping[str, tuple[int, int]] = {"front": (64, 64), "wrist": (64, 64)}
"""The cameras of the rig that ships: role -> (height, width)."""
SNAPSHOT_VERSION = 1
_MODEL = Path(__file__).with_name("so101.xml")
_COUNT = len(joints.JOINTS)


class World:
    """Physics, pictures and randomised starts. Not thread-safe. Ready to use; ``close`` frees the renderers."""

    def __init__(
        self,
        task: str = "place",
        disturbance: Disturbance | None = None,
        cameras: Mapping[str, tuple[int, int]] | None = None,
        seed: int = 0,
    ) -> None:
        """``cameras``: role (``front`` or ``wrist``) -> (height, width). Raises ``ConfigError`` for unknown names."""
        self.task = find_task(task)
        self.disturbance = disturbance or Disturbance()
        self.cameras = dict(CAMERAS if cameras is None else cameras)
        for role in self.cameras:
            if role not in CAMERAS:
                raise ConfigError(f"the virtual robot has no camera '{role}'; it has {', '.join(CAMERAS)}")
        self.joints = joints.JOINTS
        spec = mujoco.MjSpec.from_file(str(_MODEL))
        self.task.build(spec)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.actuation = Actuation(self.model, self.data, self.disturbance)
        things = [cube.name for cube in self.task.cubes] + [disc.name for disc in self.task.discs]
        self.appearance = Appearance(self.model, things)
        self.pictures = Pictures(self.model)
        self._grip = self.model.site("grip").id
        self._cubes = {cube.name: self.model.body(cube.name).id for cube in self.task.cubes}
        self._seeds = np.random.default_rng(seed)
        self._sensor_rng = np.random.default_rng(seed)
        self._asked_s = 0.0
        self.reset(seed)

    def reset(self, seed: int | None = None) -> None:
        """A new random start at time 0: arm, cubes, light. Same seed, same start and same disturbances."""
        if seed is None:
            seed = int(self._seeds.integers(2**62))
        scene, slip, self._sensor_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3))
        mujoco.mj_resetData(self.model, self.data)
        self._asked_s = 0.0
        offset = scene.uniform(-1, 1, 3) * (0.02, 0.05, 0.02)
        arm = inverse((0.15 + offset[0], offset[1], 0.12 + offset[2]), pitch=1.2)
        start = np.append(arm, 0.35) + scene.uniform(-0.03, 0.03, _COUNT)
        self.data.qpos[:_COUNT] = start
        for name, (x, y, yaw) in self.task.start(scene).items():
            quaternion = (np.cos(yaw / 2), 0, 0, np.sin(yaw / 2))
            self.data.joint(name).qpos[:] = (x, y, CUBE_HALF, *quaternion)
        self.appearance.draw(scene)
        self.actuation.reset(start, slip)
        mujoco.mj_forward(self.model, self.data)

    @property
    def time_s(self) -> float:
        """Time since the last reset [s]: what was asked of ``advance``, to which the physics keeps within a step."""
        return self._asked_s

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` of the world's time pass. Raises ``DeviceError`` when the physics became unstable."""
        timestep = self.model.opt.timestep
        self._asked_s += seconds
        steps = round((self._asked_s - self.data.time) / timestep)
        if steps > 0:
            self.actuation.step(steps)
        # MuJoCo answers numbers out of all bounds by starting over without a word; only its clock shows it.
        if abs(self._asked_s - self.data.time) > timestep:
            raise DeviceError(
                f"the physics of the virtual robot became unstable at {self._asked_s:.2f} s and started over; "
                "discard this episode and reset the world"
            )

    def read_joints_rad(self) -> NDArray[np.float64]:
        """(6,) joint angles [rad] as the encoders give them: with reading noise when that is on."""
        angles: NDArray[np.float64] = self.data.qpos[:_COUNT].copy()
        if self.disturbance.joint_noise_deg > 0:
            noise = self._sensor_rng.normal(0, self.disturbance.joint_noise_deg, _COUNT)
            angles = joints.to_radians(joints.to_units(angles) + noise)
        return angles

    def read_joints(self) -> FloatArray:
        """(6,) joint positions in robot units, with reading noise when that is on."""
        return joints.to_units(self.read_joints_rad())

    def command(self, targets: ArrayLike) -> None:
        """New targets (6,) in robot units for all joints. Raises ``UnsafeActionError`` when one is not finite."""
        self.command_rad(joints.to_radians(targets))

    def command_rad(self, targets: ArrayLike) -> None:
        """New targets (6,) [rad]; outside a joint's range they stop at its end."""
        radians = np.asarray(targets, np.float64)
        if radians.shape != (_COUNT,) or not np.isfinite(radians).all():
            raise UnsafeActionError(f"expected {_COUNT} finite joint targets, got {radians.tolist()}; nothing was sent")
        self.actuation.command(np.clip(radians, joints.RANGES_RAD[:, 0], joints.RANGES_RAD[:, 1]))

    def torque(self, enabled: ArrayLike) -> None:
        """(6,) or one bool: motors on or off. A limp joint falls; switch it on where it is to hold it there."""
        self.actuation.torque(np.broadcast_to(np.asarray(enabled, bool), (_COUNT,)))

    def load(self) -> FloatArray:
        """(6,) motor effort as a share of the greatest one, -1..1."""
        return self.actuation.load()

    def render(self, role: str, size: tuple[int, int] | None = None) -> ImageArray:
        """(H, W, 3) RGB from camera ``role``, in its own size unless ``size`` (height, width) is given."""
        if role not in CAMERAS:
            raise ConfigError(f"the virtual robot has no camera '{role}'; it has {', '.join(CAMERAS)}")
        picture = self.pictures.take(self.data, role, size or self.cameras.get(role, CAMERAS[role]))
        if self.disturbance.pixel_noise > 0:
            noise = self._sensor_rng.normal(0, self.disturbance.pixel_noise, picture.shape)
            picture = np.clip(picture + noise, 0, 255).astype(np.uint8)
        return picture

    def film(self, size: tuple[int, int] = (720, 960)) -> ImageArray:
        """(H, W, 3) RGB of the whole scene with shadows, for people. Slow: about .2 s."""
        return self.pictures.take(self.data, "film", size, fine=True)

    def succeeded(self) -> bool:
        """True when the task is done at this moment."""
        positions = {name: self.data.xpos[body] for name, body in self._cubes.items()}
        return self.task.succeeded(positions, float(self.data.qpos[joints.GRIPPER]))

    def privileged(self) -> dict[str, Any]:
        """What no camera tells, as plain values: for the scripted operator and audits only.

        ``task``: name; ``cubes``: name -> position (x, y, z) [m], yaw [rad] and goal; ``goals``: disc -> (x, y) [m];
        ``grip``: (x, y, z) between the jaws [m].
        """
        cubes = {}
        for cube in self.task.cubes:
            body = self._cubes[cube.name]
            turn = self.data.xmat[body]
            yaw = float(np.arctan2(turn[3], turn[0]))
            cubes[cube.name] = {"position": self.data.xpos[body].tolist(), "yaw": yaw, "goal": cube.goal}
        goals = {disc.name: list(disc.centre) for disc in self.task.discs}
        return {
            "task": self.task.name,
            "cubes": cubes,
            "goals": goals,
            "grip": self.data.site_xpos[self._grip].tolist(),
        }

    def snapshot(self) -> dict[str, Any]:
        """Everything that determines the future, as plain values (fit for JSON)."""
        state = np.empty(mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(self.model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        return {
            "version": SNAPSHOT_VERSION,
            "task": self.task.name,
            "physics": state.tolist(),
            "asked_s": self._asked_s,
            "actuation": self.actuation.snapshot(),
            "look": self.appearance.look,
            "seeds_rng": self._seeds.bit_generator.state,
            "sensor_rng": self._sensor_rng.bit_generator.state,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot of a world with the same task; the same commands then give the same states.

        Raises ``DataError`` for a snapshot of another version, task or model; nothing is changed then.
        """
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        size = mujoco.mj_stateSize(self.model, kind)
        got = (snapshot.get("version"), snapshot.get("task"), len(snapshot.get("physics", ())))
        if got != (SNAPSHOT_VERSION, self.task.name, size):
            raise DataError(
                f"a snapshot with version, task and size {got} does not fit this world, "
                f"which needs {(SNAPSHOT_VERSION, self.task.name, size)}"
            )
        state = np.array(snapshot["physics"])
        self.actuation.restore(snapshot["actuation"])
        self.appearance.apply(snapshot["look"])
        self._asked_s = snapshot["asked_s"]
        self._seeds.bit_generator.state = snapshot["seeds_rng"]
        self._sensor_rng.bit_generator.state = snapshot["sensor_rng"]
        mujoco.mj_setState(self.model, self.data, state, kind)
        mujoco.mj_forward(self.model, self.data)
        # Again: the line above also warmed up the solver, which the next step would notice.
        mujoco.mj_setState(self.model, self.data, state, kind)

    def close(self) -> None:
        """Free the renderers; may be called twice. Pictures are made anew when asked for again."""
        self.pictures.close()
