"""Pictures of the virtual world: MuJoCo's off-screen renderer, kept quiet, quick and safe to close.

Import ``mujoco`` from here: the renderer it will use has to be chosen before its first import.
"""

import atexit
import os
import sys
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import DeviceError

_HELP = (
    "on Debian or Ubuntu install libegl1 and libgl1-mesa-dri and set MUJOCO_GL=egl "
    "(or install libosmesa6 and set MUJOCO_GL=osmesa); MUJOCO_GL=disable runs without pictures"
)


def _import_mujoco() -> Any:
    """Load MuJoCo; on a machine without a screen, with its headless renderer."""
    headless = sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    # Too late for a program that imported MuJoCo earlier; the error then shows MUJOCO_GL as it really is.
    if headless and not os.environ.get("MUJOCO_GL") and "mujoco" not in sys.modules:
        os.environ["MUJOCO_GL"] = "egl"
    # A software renderer's own threads cost more than they bring at policy sizes, and steal from the learner.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    try:
        import mujoco
    except ModuleNotFoundError as error:
        if error.name != "mujoco":
            raise DeviceError(f"the virtual robot cannot load a part of MuJoCo ({error}); {_HELP}") from error
        raise DeviceError("the virtual robot needs MuJoCo: pip install 'svm-robot[virtual]'") from error
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        gl = os.environ.get("MUJOCO_GL", "")
        raise DeviceError(f"MuJoCo cannot start its renderer (MUJOCO_GL='{gl}': {error}); {_HELP}") from error
    return mujoco


_SMALL = 128
"""Pictures up to this many pixels wide or high are drawn with the coarsest round shapes."""

mujoco: Any = _import_mujoco()


class Pictures:
    """One renderer per picture size, made at the first use and kept: making them anew costs more than the picture."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._renderers: dict[tuple[int, int, bool], Any] = {}

    def take(self, data: Any, camera: str, size: tuple[int, int], fine: bool = False) -> NDArray[np.uint8]:
        """(H, W, 3) RGB from ``camera``. ``fine`` adds shadows and smooth edges, at a hundred times the cost.

        Raises ``DeviceError`` when this machine cannot draw.
        """
        key = (*size, fine)
        renderer = self._renderers.get(key)
        if renderer is None:
            renderer = self._renderers[key] = self._open(size, fine)
        renderer.update_scene(data, camera)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            renderer.scene.flags[flag] = fine
        picture: NDArray[np.uint8] = renderer.render()
        return picture

    def close(self) -> None:
        """Free every renderer; may be called twice."""
        for renderer in self._renderers.values():
            renderer.close()
        self._renderers.clear()

    def _open(self, size: tuple[int, int], fine: bool) -> Any:
        chosen = os.environ.get("MUJOCO_GL", "")
        if chosen.lower() in ("disable", "disabled", "off", "false", "0"):
            raise DeviceError(f"pictures are switched off by MUJOCO_GL={chosen}; {_HELP}")
        quality = self.model.vis.quality
        quality.offsamples = 4 if fine else 0
        quality.shadowsize = 4096 if fine else 0
        # Software renderers pay per corner: where nobody can see them, round shapes get few, flat ones the least.
        quality.numquads = 1
        quality.numslices, quality.numstacks = (40, 20) if fine else (24, 8) if max(size) > _SMALL else (12, 2)
        try:
            renderer = mujoco.Renderer(self.model, *size)
        except ValueError as error:
            width, height = self.model.vis.global_.offwidth, self.model.vis.global_.offheight
            raise DeviceError(
                f"a picture of {size[0]}x{size[1]} (height x width) is too large; at most {height}x{width}"
            ) from error
        except Exception as error:  # the drawing libraries raise what they like
            raise DeviceError(f"cannot draw the virtual robot (MUJOCO_GL='{chosen}': {error}); {_HELP}") from error
        if not self._renderers:
            # Runs before the drawing library's own exit handler, which must find the renderers closed.
            atexit.register(_close_if_alive, weakref.ref(self))
        return renderer


def _close_if_alive(pictures: "weakref.ref[Pictures]") -> None:
    alive = pictures()
    if alive is not None:
        alive.close()
