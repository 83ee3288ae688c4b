"""What a run writes into its journal: the one place that knows the events and their fields.

``env_steps`` counts every control step the method has used, offline and warm-up included;
``robot_minutes`` is the same in minutes at the control rate. A figure that does not exist is null, never zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from statistics import fmean
from typing import Any

from svm_robot.data.journal import Journal
from svm_robot.learner.config import FinetuneConfig
from svm_robot.learner.counters import Counters
from svm_robot.learner.prequential import Prequential
from svm_robot.learner.workplace import Workplace
from svm_robot.rollout import EpisodeEnd
from svm_robot.rollout.evaluate import Evaluation


class Diary:
    """Writes one event per method; each is on disk when the method returns."""

    def __init__(self, journal: Journal, counters: Counters, rate_hz: float) -> None:
        self.journal, self.counters, self.rate_hz = journal, counters, rate_hz

    def run(self, config: FinetuneConfig, work: Workplace, critic_start: float) -> None:
        """The run begins, or goes on after an interruption. ``critic_start``: what the critics said at first."""
        self._write(
            "run",
            verb="finetune",
            shaping=config.shaping,
            seed=config.seed,
            config=asdict(config),
            rate_hz=self.rate_hz,
            chunk=work.chunk,
            max_steps=work.max_steps,
            critic_start=critic_start,
            robot_type=work.env.spec.robot_type,
            task=work.task,
            offline_steps=self.counters.offline_steps,
            identity=dict(work.identity),
            **work.about,
        )

    def baseline(self, noise: str, result: Evaluation, first_seed: int) -> None:
        """The unchanged base: ``sampled`` or ``zero`` noise."""
        self._write("baseline", noise=noise, first_seed=first_seed, **counted(result))

    def episode(self, end: EpisodeEnd, own: bool, logits: Sequence[float], seconds: float) -> None:
        """One training episode. ``own``: the trained actor acted. ``logits`` are from before f was trained on it."""
        self._write(
            "episode",
            episode=self.counters.episode,
            **self.where(),
            outcome=str(end.outcome),
            reason=end.reason,
            steps=end.steps,
            own=own,
            mean_logit=fmean(logits) if logits else None,
            seconds=seconds,
        )

    def discriminator(self, fitted: Mapping[str, float], prequential: Prequential) -> None:
        """How well f separates episodes it had not seen, and how it fits those it has."""
        fit = {"loss": fitted.get("loss"), "accuracy_balanced": fitted.get("accuracy_balanced")}
        self._write("discriminator", env_steps=self.counters.env_steps, **fit, **prequential.numbers())

    def learner(self, numbers: Mapping[str, float], updates: int, new: int, seconds: float) -> None:
        """Means over the ``new`` gradient steps that were just made."""
        speed = new / seconds if seconds > 0 else None
        self._write("learner", env_steps=self.counters.env_steps, updates=updates, updates_per_s=speed, **numbers)

    def evaluation(self, result: Evaluation, best: bool) -> None:
        """The deterministic policy as it is now."""
        self._write("evaluation", **self.where(), **counted(result), best=best)

    def final(self, result: Evaluation, best: Mapping[str, Any]) -> None:
        """The kept policy on starts that had no part in choosing it."""
        self._write("final", **self.where(), **counted(result), kept_from=best["env_steps"])

    def end(self, reason: str, live_score_ms: Mapping[str, float] | None) -> None:
        """The run ends, for now or for good."""
        seconds = dict(self.counters.seconds)
        self._write("end", reason=reason, seconds_by_stage=seconds, **self.where(), live_score_ms=live_score_ms)

    def where(self) -> dict[str, Any]:
        """How much of the robot's time has been used."""
        steps = self.counters.env_steps
        return {"env_steps": steps, "robot_minutes": steps / self.rate_hz / 60}

    def _write(self, kind: str, **values: Any) -> None:
        self.journal.write(kind, **{name: value if known(value) else None for name, value in values.items()})


def counted(result: Evaluation) -> dict[str, Any]:
    """An evaluation as journal fields."""
    return {name: getattr(result, name) for name in ("successes", "episodes", "undecided", "mean_steps")}


def known(value: Any) -> bool:
    """False for a number that is not finite."""
    return not isinstance(value, float) or isfinite(value)
