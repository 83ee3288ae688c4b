"""Who watches: recorder, live score, console, experience for the learner. Watching is listening."""

from typing import Protocol

from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Step


class Listener(Protocol):
    """Told of everything, asked for nothing. The loop knows no listener by name."""

    @property
    def needs_every_frame(self) -> bool:
        """True when the cameras must be read at every step, not only where the policy decides."""

    def on_start(self, start: EpisodeStart) -> None:
        """An episode begins."""

    def on_step(self, step: Step) -> None:
        """One control step was taken. Must not block longer than a small part of the period."""

    def on_end(self, end: EpisodeEnd) -> None:
        """The episode is over; always called once for each ``on_start``, also after an error or Ctrl-C."""
