"""What acts: a learned policy, a scripted operator, a leader arm."""

from typing import Protocol

from svm_robot.rollout.env import FloatArray, Observation


class Policy(Protocol):
    """Chooses action chunks."""

    @property
    def source(self) -> str:
        """``policy``, ``script`` or ``human``: who acts now, written beside every step.

        When it changes (a person takes over), the rest of the chunk in hand is dropped and ``act`` is asked at once.
        """

    @property
    def latent(self) -> FloatArray | None:
        """(d,) the noise behind the last chunk, or None for a policy without one."""

    def reset(self, seed: int | None = None) -> None:
        """Forget the last episode. Same seed, same draws."""

    def act(self, observation: Observation) -> FloatArray:
        """(c, J) absolute joint targets for the next c control steps, in the units of ``observation.state``."""
