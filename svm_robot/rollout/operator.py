"""Who says how it went: a person at the keys, or the simulator's judge."""

from typing import Protocol

from svm_robot.rollout.episode import Step


class Operator(Protocol):
    """Verdicts are the plain strings of ``Outcome``, so a driver can satisfy this without importing the method."""

    def begin(self, episode: int) -> None:
        """Called before each episode (a person may still be resetting the scene)."""

    def poll(self, step: Step) -> str | None:
        """A verdict (a value of ``Outcome``) that ends the episode now, or None. Never blocks."""

    def outcome(self) -> str:
        """The outcome of an episode that ran into its time limit. May wait for a person."""

    def wants_to_stop(self) -> bool:
        """True when no further episode should start (for example after a ``q``)."""
