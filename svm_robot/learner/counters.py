"""How far a run has come: plain numbers, saved with every checkpoint."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

STAGES = ("baseline", "rollout", "discriminator", "policy", "evaluation", "checkpoint")


@dataclass
class Counters:
    """The one mutable value of a run. Times are wall seconds, summed over resumes."""

    saved: int = 0
    """Checkpoints so far."""
    episode: int = 0
    """Training episodes run in this run, whatever their outcome; offline ones not counted."""
    env_steps: int = 0
    """Control steps the method has used, offline data included, evaluations not."""
    offline_steps: int = 0
    """Those of them that were recorded before this run."""
    next_eval: int = 0
    """Control step at which the next evaluation is due."""
    evaluated: int = -1
    """Control step of the last evaluation."""
    prepared: bool = False
    """True once the baselines are measured and what was recorded before is learned from."""
    started: bool = False
    """True once the warm-up is over and the actor acts."""
    best: dict[str, Any] | None = None
    """The kept evaluation: successes, episodes, mean_steps, env_steps."""
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``Counters(**value)`` is the reverse."""
        return asdict(self)

    def grid_point(self, every: int) -> int:
        """The next multiple of ``every`` control steps."""
        return (self.env_steps // every + 1) * every

    def evaluation_is_due(self, used_up: bool) -> bool:
        """While the actor acts: at every grid point, and once more where the budget ends."""
        return self.started and (self.env_steps >= self.next_eval or (used_up and self.evaluated != self.env_steps))

    @contextmanager
    def timed(self, stage: str, clock: Callable[[], float]) -> Iterator[None]:
        """Add the time spent inside to ``stage``."""
        begin = clock()
        try:
            yield
        finally:
            self.seconds[stage] += clock() - begin
