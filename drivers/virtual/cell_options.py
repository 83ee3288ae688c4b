"""What a cell is made of, on its way to the process that runs it."""

import json
from dataclasses import asdict, dataclass, field

from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.errors import ConfigError


@dataclass(frozen=True)
class CellOptions:
    """Task, imperfections, cameras. Raises ``ConfigError`` for a camera rate that no camera has."""

    task: str = "place"
    disturbance: Disturbance = field(default_factory=Disturbance)
    sizes: dict[str, tuple[int, int]] = field(default_factory=lambda: {"front": (64, 64), "wrist": (64, 64)})
    """Camera role -> (height, width) [pixels]."""
    rates: dict[str, float] = field(default_factory=lambda: {"front": 30.0, "wrist": 30.0})
    """Camera role -> pictures per second."""
    seed: int = 0
    wire_time: bool = False
    """True: replies take as long as on a real 1 Mbaud line."""

    def __post_init__(self) -> None:
        if set(self.sizes) != set(self.rates):
            raise ConfigError(f"cameras with a size are {sorted(self.sizes)}, cameras with a rate {sorted(self.rates)}")
        for role, rate in self.rates.items():
            if not 0 < rate <= 1000:
                raise ConfigError(f"camera '{role}' has {rate} pictures per second; it must be above 0, up to 1000")

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> "CellOptions":
        """What ``to_json`` wrote."""
        values = json.loads(text)
        values["disturbance"] = Disturbance(**values["disturbance"])
        values["sizes"] = {role: (height, width) for role, (height, width) in values["sizes"].items()}
        return CellOptions(**values)
