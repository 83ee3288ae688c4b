"""Finetuned policies of a run: folders that ``svm-robot evaluate --policy`` takes, frozen policy and pilot together.

RUN/policies/004012/     one per evaluation that is still needed
RUN/best, RUN/last       links to the best one by evaluation, and to the newest
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from svm_robot.data.files import new_folder, sync
from svm_robot.learner.networks import Actor
from svm_robot.learner.pilot import save_pilot
from svm_robot.rollout.evaluate import Evaluation

FOLDER, BEST, LAST = "policies", "best", "last"


class Shelf:
    """Keeps the best and the last policy of one run."""

    def __init__(self, run: Path, save_policy: Callable[[Path], None], horizon_steps: int) -> None:
        self.run, self.save_policy, self.horizon_steps = run, save_policy, horizon_steps

    def keep(self, name: str, actor: Actor, best: bool) -> None:
        """Write a policy whole, then point ``last`` (and ``best``) at it."""
        target = self.run / FOLDER / name
        with new_folder(target) as fresh:
            self.save_policy(fresh)
            save_pilot(fresh, actor, self.horizon_steps)
        self._point(LAST, target)
        if best:
            self._point(BEST, target)
        self._tidy()

    @property
    def best(self) -> Path:
        """The link to the best policy."""
        return self.run / BEST

    def _point(self, link: str, target: Path) -> None:
        staged = self.run / f".{link}.new"
        staged.unlink(missing_ok=True)
        staged.symlink_to(target.relative_to(self.run), target_is_directory=True)
        staged.replace(self.run / link)
        sync(self.run)

    def _tidy(self) -> None:
        wanted = {(self.run / link).resolve() for link in (BEST, LAST)}
        for path in (self.run / FOLDER).glob("[0-9]*"):
            if path.resolve() not in wanted:
                shutil.rmtree(path)


def better(result: Evaluation, best: Mapping[str, float] | None) -> bool:
    """More successes, or as many in fewer steps."""
    if best is None:
        return True
    old = best["successes"] / max(1, best["episodes"])
    return (result.rate, -result.mean_steps) > (old, -best["mean_steps"])
