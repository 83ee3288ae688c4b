"""The simulator's own verdict, in the place of a person at the keys."""

from typing import Protocol


class Judged(Protocol):
    """A world, or a cell that runs one."""

    def succeeded(self) -> bool:
        """True when the task is done at this moment."""


class Judge:
    """Ends an episode at success; what is not done at the time limit has failed."""

    def __init__(self, world: Judged) -> None:
        self.world = world

    def begin(self, episode: int) -> None:
        """Nothing to wait for: the world resets its own scene."""

    def poll(self, step: object) -> str | None:
        """``success`` as soon as the task is done."""
        return "success" if self.world.succeeded() else None

    def outcome(self) -> str:
        """``success`` or ``failure`` at the time limit."""
        return "success" if self.world.succeeded() else "failure"

    def wants_to_stop(self) -> bool:
        """Never: the number of episodes decides."""
        return False
