"""How the scene is lit and coloured: drawn anew at every reset, so that no policy can lean on one shade."""

from typing import Any

import numpy as np

Look = dict[str, list[float]]
"""Plain values: they are part of a snapshot."""


class Appearance:
    """Varies the lamp, the ambient light, the table and the coloured things around their first values."""

    def __init__(self, model: Any, things: list[str]) -> None:
        self.model = model
        self.geoms = {name: model.geom(name).id for name in ("table", *things)}
        self.colours = {name: model.geom_rgba[geom].copy() for name, geom in self.geoms.items()}
        self.lamp = model.light_diffuse[0].copy()
        self.direction = model.light_dir[0].copy()
        self.ambient = model.vis.headlight.ambient.copy()
        self.look: Look = {}

    def draw(self, rng: np.random.Generator) -> None:
        """A new look from ``rng``."""
        direction = self.direction + rng.uniform(-0.25, 0.25, 3) * (1, 1, 0)
        look = {
            "lamp": self.lamp * rng.uniform(0.75, 1.2) * rng.uniform(0.95, 1.05, 3),
            "direction": direction / np.linalg.norm(direction),
            "ambient": self.ambient * rng.uniform(0.85, 1.1),
        }
        for name, colour in self.colours.items():
            tint = rng.uniform(-1, 1, 3) * (0.012 if name == "table" else 0.05)
            shade = rng.uniform(0.94, 1.04) if name == "table" else 1.0
            look[name] = np.append(np.clip(colour[:3] * shade + tint, 0, 1), colour[3])
        self.apply({key: value.tolist() for key, value in look.items()})

    def apply(self, look: Look) -> None:
        """Show ``look``."""
        self.look = look
        self.model.light_diffuse[0] = look["lamp"]
        self.model.light_dir[0] = look["direction"]
        self.model.vis.headlight.ambient[:] = look["ambient"]
        for name, geom in self.geoms.items():
            self.model.geom_rgba[geom] = look[name]
