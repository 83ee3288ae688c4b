"""What the discriminator says of episodes it has not trained on yet: each new one is scored first, learned after."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from svm_robot.reward.metrics import auc
from svm_robot.reward.quality import FIRST, fit_temperature
from svm_robot.rollout import Outcome

RECENT = 60
"""Episodes that the recent figures look at."""
OWN = 20
"""Episodes of the policy itself that the visitation gap looks at."""
ENOUGH = 3
"""Episodes of each outcome before the policy's own experience sets the temperature."""


@dataclass(frozen=True)
class Scored:
    """One episode, scored before it was trained on."""

    success: bool
    logits: list[float]
    """Unclipped logit of each decision [nats]."""
    own: bool
    """True when the trained actor acted, False for the base's noise."""


class Prequential:
    """The last scored episodes and what they say."""

    def __init__(self, scored: Iterable[Scored] = ()) -> None:
        self.scored: deque[Scored] = deque(scored, maxlen=RECENT)

    def add(self, outcome: Outcome, logits: list[float], own: bool) -> None:
        """Note one episode that ended in success or failure."""
        self.scored.append(Scored(outcome is Outcome.SUCCESS, logits, own))

    def numbers(self) -> dict[str, float | None]:
        """For the journal; None where there is nothing to average."""
        return {
            "auc_recent": self._auc(None),
            "auc_recent_first": self._auc(FIRST),
            "mean_logit_success": self._mean_logit(True),
            "mean_logit_failure": self._mean_logit(False),
            "visitation_gap_nats": self.visitation_gap(),
        }

    def temperature(self, before: float) -> float:
        """By what the logit must be divided to be as sure as it is right, judged by the policy's own episodes.

        ``before``: the answer of the reward's held-out episodes, which stands until ``ENOUGH`` of each outcome are in.
        """
        own = [scored for scored in self.scored if scored.own]
        if min(sum(scored.success is outcome for scored in own) for outcome in (True, False)) < ENOUGH:
            return before
        logits = np.concatenate([scored.logits for scored in own])
        labels = np.concatenate([np.full(len(scored.logits), scored.success) for scored in own])
        return fit_temperature(logits, labels)

    def visitation_gap(self) -> float | None:
        """E_pi[log w+/w-]: how much nearer to success than to failure the policy's own decisions are [nats each].

        Mean unclipped logit over the last ``OWN`` episodes in which the actor acted; equation (7), per decision.
        """
        own = [scored for scored in self.scored if scored.own][-OWN:]
        return fmean(logit for scored in own for logit in scored.logits) if own else None

    def _mean_logit(self, success: bool) -> float | None:
        found = [fmean(scored.logits) for scored in self.scored if scored.success is success]
        return fmean(found) if found else None

    def _auc(self, first: int | None) -> float | None:
        """Per decision; every episode weighs the same."""
        if len({scored.success for scored in self.scored}) < 2:
            return None
        parts = [(scored.logits[:first], scored.success) for scored in self.scored]
        scores = np.concatenate([logits for logits, _ in parts])
        labels = np.concatenate([np.full(len(logits), success) for logits, success in parts])
        weights = np.concatenate([np.full(len(logits), 1 / len(logits)) for logits, _ in parts])
        return auc(scores, labels, weights)
