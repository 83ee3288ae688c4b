"""Finetuned policies of a run: folders that ``svm-robot evaluate --policy`` takes, frozen policy and pilot together.

RUN/policies/004012/     one per evaluation that is still needed
RUN/best, RUN/last       links to the best one by evaluation, and to the newest
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from svm_robot.data.files import publish, sync
from svm_robot.learner.networks import Actor
from svm_robot.learner.pilot import save_pilot
from svm_robot.rollout.evaluate import Evaluation

FOLDER, BEST, LAST = "policies", "best", "last"


class Shelf:
    """Keeps the best and the last policy of one run."""

    def __init__(self, run: Path, save_policy: Callable[[Path], None], horizon_steps: int) -> None:
        self.run, self.save_policy, self.horizon_steps = run, save_policy, horizon_steps

    def keep(self, name: str, actor: Actor, best: bool) -> Path:
        """Write a policy whole, then point ``last`` (and ``best``) at it; returns its folder."""
        folder = self.run / FOLDER
        staged, target = folder / ".new", folder / name
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True)
        self.save_policy(staged)
        save_pilot(staged, actor, self.horizon_steps)
        for file in staged.iterdir():
            sync(file)
        shutil.rmtree(target, ignore_errors=True)
        publish(staged, target)
        self._point(LAST, target)
        if best:
            self._point(BEST, target)
        self._tidy()
        return target

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
