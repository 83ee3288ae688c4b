"""Draw the pictures of the virtual robot in docs/pictures. Usage: python tools/virtual_robot_pictures.py"""

from pathlib import Path

import numpy as np
from PIL import Image

from svm_robot.drivers.virtual.expert import ScriptedExpert
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.drivers.virtual.world import World

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SEED = 4
ENLARGE = 5


def after(steps: int) -> World:
    """The world of task ``place`` after ``steps`` control steps of a perfect operator."""
    world = World("place")
    env, expert = LockstepEnv(world), ScriptedExpert(world, clumsiness=0.0)
    env.reset(SEED)
    expert.reset(SEED)
    for _ in range(steps):
        env.apply(expert.act(env.observe(frames=False))[0])
    return world


def main() -> None:
    """One picture for people, and one of what the policy is given."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    film = Image.fromarray(after(steps=23).film())
    film.quantize(128, dither=Image.Dither.NONE).save(FOLDER / "virtual_robot.png", optimize=True)
    moments = []
    for steps in (4, 10, 26):
        world = after(steps)
        views = [np.kron(world.render(role), np.ones((ENLARGE, ENLARGE, 1), np.uint8)) for role in world.cameras]
        moments.append(np.vstack([np.pad(view, ((4, 4), (4, 4), (0, 0)), constant_values=255) for view in views]))
    Image.fromarray(np.hstack(moments)).save(FOLDER / "what_the_policy_sees.png", optimize=True)


if __name__ == "__main__":
    main()
