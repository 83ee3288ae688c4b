"""What can go wrong with the cameras of a cell, as ``WireFaults`` says it of its wire."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CameraFaults:
    """What goes wrong with the cameras of a cell, by their roles; all off by default."""

    frozen: Sequence[str] = ()
    """Give one picture for ever, each time with a new capture time, as some real ones do."""
    stalled: Sequence[str] = ()
    """Give nothing new."""
    black: Sequence[str] = ()
    """See nothing: the lens is covered."""
    vanished: Sequence[str] = ()
    """Are unplugged. Leaving this list plugs them in again; who had them open must open them anew."""
    slow: Mapping[str, float] = field(default_factory=dict)
    """Camera role -> pictures per second instead of its own rate."""

    def check(self, known: Sequence[str]) -> None:
        """Raises ``ValueError`` for a camera that a cell does not have, or a rate that is none."""
        named = {*self.frozen, *self.stalled, *self.black, *self.vanished, *self.slow}
        unknown = sorted(named - set(known))
        if unknown:
            raise ValueError(f"no camera {', '.join(unknown)} in this cell; its cameras are {', '.join(known)}")
        for role, rate in self.slow.items():
            if not 0 < rate < float("inf"):
                raise ValueError(f"camera '{role}' cannot give {rate} pictures per second; it must be above 0")
