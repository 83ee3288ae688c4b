"""What there is to do in the virtual world: objects, goals, randomised starts, and when it counts as done."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.virtual.graphics import mujoco
from svm_robot.errors import ConfigError

CUBE_HALF = 0.014
"""Half the edge of a cube [m]."""
RELEASED_RAD = 0.45
"""A gripper wider open than this holds nothing [rad]."""

RED, GREEN = (0.83, 0.10, 0.10, 1.0), (0.12, 0.60, 0.22, 1.0)
BLUE, YELLOW = (0.14, 0.32, 0.80, 1.0), (0.96, 0.78, 0.15, 1.0)


@dataclass(frozen=True)
class Cube:
    """A cube to pick, and the rectangle on the table in which its centre starts."""

    name: str
    rgba: tuple[float, float, float, float]
    centre: tuple[float, float]
    """Middle of the rectangle, x and y [m]."""
    half: tuple[float, float]
    """Half the sides of the rectangle [m]."""
    goal: str | None
    """Name of the disc it belongs on; None: it is only to be lifted."""


@dataclass(frozen=True)
class Disc:
    """A place on the table, marked by a coloured disc with a white rim."""

    name: str
    rgba: tuple[float, float, float, float]
    centre: tuple[float, float]
    radius: float = 0.045
    tolerance: float = 0.038
    """A cube counts as placed when its centre is nearer than this [m]."""


@dataclass(frozen=True)
class Task:
    """One row of the task table."""

    name: str
    cubes: tuple[Cube, ...]
    discs: tuple[Disc, ...]
    time_limit_s: float
    """A sensible length of one episode; the rig decides."""

    def build(self, spec: Any) -> None:
        """Add cubes (with free joints) and discs to a MuJoCo ``MjSpec``."""
        for disc in self.discs:
            _add_disc(spec, disc)
        for cube in self.cubes:
            _add_cube(spec, cube)

    def start(self, rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
        """Cube name -> (x [m], y [m], yaw [rad]) of a random start."""
        poses = {}
        for cube in self.cubes:
            x, y = np.asarray(cube.centre) + rng.uniform(-1, 1, 2) * cube.half
            poses[cube.name] = (float(x), float(y), float(rng.uniform(-0.5, 0.5)))
        return poses

    def succeeded(self, positions: Mapping[str, NDArray[np.float64]], gripper_rad: float) -> bool:
        """True when every cube is where it belongs. ``positions``: cube name -> (3,) centre in the world [m]."""
        return all(self._done(cube, positions[cube.name], gripper_rad) for cube in self.cubes)

    def _done(self, cube: Cube, position: NDArray[np.float64], gripper_rad: float) -> bool:
        if cube.goal is None:
            return bool(position[2] > 0.075)
        disc = next(disc for disc in self.discs if disc.name == cube.goal)
        inside = float(np.hypot(*(position[:2] - disc.centre))) < disc.tolerance
        return inside and bool(position[2] < 0.02) and gripper_rad > RELEASED_RAD


def _add_cube(spec: Any, cube: Cube) -> None:
    body = spec.worldbody.add_body(name=cube.name, pos=[*cube.centre, CUBE_HALF])
    body.add_freejoint(name=cube.name)
    geom = body.add_geom(spec.find_default("thing"), name=cube.name, size=[CUBE_HALF] * 3, rgba=cube.rgba, mass=0.02)
    geom.type = mujoco.mjtGeom.mjGEOM_BOX


def _add_disc(spec: Any, disc: Disc) -> None:
    rim = (disc.name + "_rim", disc.radius + 0.005, 0.0004, (0.97, 0.97, 0.97, 1.0))
    for name, radius, height, rgba in (rim, (disc.name, disc.radius, 0.0008, disc.rgba)):
        geom = spec.worldbody.add_geom(
            spec.find_default("skin"),
            name=name,
            pos=[*disc.centre, height / 2],
            size=[radius, height / 2, 0],
            rgba=rgba,
        )
        geom.type = mujoco.mjtGeom.mjGEOM_CYLINDER
        geom.group = 0


_BLUE_DISC = Disc("blue_disc", BLUE, (0.20, 0.10))
_PLACE = Task(
    "place",
    (Cube("red_cube", RED, (0.205, -0.04), (0.04, 0.05), "blue_disc"),),
    (_BLUE_DISC,),
    time_limit_s=8.0,
)
_LIFT = Task(
    "lift",
    (Cube("red_cube", RED, (0.205, 0.0), (0.04, 0.07), None),),
    (),
    time_limit_s=6.0,
)
_TWO = Task(
    "two",
    (
        Cube("red_cube", RED, (0.22, -0.02), (0.025, 0.025), "blue_disc"),
        Cube("green_cube", GREEN, (0.185, -0.11), (0.025, 0.025), "yellow_disc"),
    ),
    (_BLUE_DISC, Disc("yellow_disc", YELLOW, (0.10, 0.165))),
    time_limit_s=16.0,
)
TASKS: Mapping[str, Task] = {task.name: task for task in (_PLACE, _LIFT, _TWO)}


def find_task(name: str) -> Task:
    """The task called ``name``; ``ConfigError`` lists the ones there are."""
    if name not in TASKS:
        raise ConfigError(f"no virtual task is called '{name}'; the tasks are {', '.join(TASKS)}")
    return TASKS[name]
