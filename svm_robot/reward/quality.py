"""What a fitted discriminator is worth on episodes it has not seen, beside the shortcuts it must beat."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svm_robot.reward.metrics import Interval, auc, balanced_weights, bootstrap, brier, calibration_error
from svm_robot.reward.samples import Samples

Array = NDArray[np.float64]
FIRST = 5
"""The first decisions of an episode, where nothing has gone wrong visibly yet: the hard and useful part."""
FOLDS = 5
"""Parts of the held-out episodes, each calibrated by the temperature of the others."""
LABELS = {
    "auc_decision": "AUC, every decision",
    "auc_first": f"AUC, first {FIRST} decisions",
    "auc_episode": "AUC, episode means",
    "auc_no_pictures": "AUC without pictures",
    "auc_no_pictures_first": f"AUC without pictures, first {FIRST}",
    "auc_clock": "AUC of the clock alone",
    "over_clock": "AUC above the clock",
    "brier": "Brier score, calibrated on other episodes",
    "ece_before": "calibration error, not calibrated",
    "ece": "calibration error, calibrated on other episodes",
}


@dataclass(frozen=True)
class Quality:
    """Held-out figures with 95 % intervals over episodes."""

    figures: dict[str, Interval]
    """By the names in ``LABELS``."""
    logit_success: float
    """Mean raw logit of held-out successes [nats]."""
    logit_failure: float
    temperature: float
    episodes: dict[str, int]
    """train_success, train_failure, held_success, held_failure."""
    decisions: int
    """Held-out decisions."""
    twins: list[tuple[int, int]]
    """Episodes recorded byte for byte alike but labelled (success, failure)."""

    @property
    def beats_clock(self) -> bool:
        """True when the AUC is above the clock's own in the whole interval."""
        return self.figures["over_clock"].low > 0

    def as_metrics(self) -> dict[str, list[float]]:
        """For ``SvmConfig.metrics``: name -> [value, low, high], or [value] for a plain number."""
        metrics = {name: figure.as_list() for name, figure in self.figures.items()}
        metrics |= {"logit_success": [self.logit_success], "logit_failure": [self.logit_failure]}
        metrics |= {f"episodes_{name}": [float(count)] for name, count in self.episodes.items()}
        return metrics

    def warnings(self) -> list[str]:
        """What a person must know before using this reward."""
        found = [f"episodes {a} (success) and {b} (failure) are the same recording: fix a label" for a, b in self.twins]
        over = self.figures["over_clock"]
        if over.value <= 0:
            found.append("THIS REWARD DOES NOT BEAT THE CLOCK: the time since the start tells as much. Do not use it")
        elif not self.beats_clock:
            found.append("not shown to beat the clock with these few episodes: record more before trusting it")
        if self.figures["auc_decision"].low <= 0.5:
            found.append("the interval of the AUC reaches .5: this may be chance")
        return found

    def table(self) -> str:
        """The figures as aligned lines."""
        rows = [(text, str(self.figures[name])) for name, text in LABELS.items() if name in self.figures]
        rows.append(("mean logit, successes / failures", f"{self.logit_success:+.2f} / {self.logit_failure:+.2f} nats"))
        rows.append(("temperature", f"{self.temperature:.2f}, from all held-out episodes"))
        n = self.episodes
        rows.append(("episodes trained on", f"{n['train_success']} successes, {n['train_failure']} failures"))
        rows.append(("episodes held out", f"{n['held_success']} successes, {n['held_failure']} failures"))
        rows.append(("decisions held out", str(self.decisions)))
        width = max(len(text) for text, _ in rows)
        return "\n".join(f"{text:<{width}}  {value}" for text, value in rows)


def fit_temperature(logit: Array, success: Array) -> float:
    """T >= 1 that makes sigmoid(logit / T) likeliest on held-out rows, both outcomes weighing the same.

    It only cools: a handful of perfectly separated episodes would otherwise be read as certainty.
    Source: Guo et al., On Calibration of Modern Neural Networks, ICML 2017.
    """
    weight = balanced_weights(success)

    def cost(temperature: float) -> float:
        z = logit / temperature
        return float((weight * (np.logaddexp(0, z) - success * z)).sum())

    grid = np.geomspace(1, 100, 300)
    return float(grid[np.argmin([cost(t) for t in grid])])


def cross_fitted(logit: Array, success: Array, episode: NDArray[np.int64]) -> Array:
    """(N,) for each row the temperature that OTHER held-out episodes ask for.

    A figure that used a temperature chosen by its own rows would flatter itself. Needs two episodes of each outcome.
    """
    _, first, at = np.unique(episode, return_index=True, return_inverse=True)
    fold = np.zeros(len(first), np.int64)
    for outcome in (0, 1):
        members = np.flatnonzero(success[first] == outcome)
        fold[members] = np.arange(len(members)) % FOLDS
    temperature = np.ones(len(logit))
    for number in np.unique(fold):
        inside = fold[at] == number
        temperature[inside] = fit_temperature(logit[~inside], success[~inside])
    return temperature


def measure(
    held: Samples,
    logit: Array,
    no_pictures: Array,
    clock: Array,
    temperature: float,
    train_episodes: dict[str, int],
    twins: list[tuple[int, int]],
    seed: int = 0,
) -> Quality:
    """Judge held-out logits (N,), beside those of the two controls fitted on the same episodes."""
    label, episode = held.success, held.episode
    first = held.order < FIRST

    def interval(statistic: Callable[[Array], float], rows: NDArray[np.bool_] | None = None) -> Interval:
        chosen = slice(None) if rows is None else rows
        return bootstrap(statistic, episode[chosen], label[chosen], seed=seed)

    def auc_of(scores: Array, rows: NDArray[np.bool_] | None = None) -> Interval:
        chosen = slice(None) if rows is None else rows
        return interval(lambda weight: auc(scores[chosen], label[chosen], weight), rows)

    def calibrated(metric: Callable[..., float], by: Array) -> Interval:
        probability = 1 / (1 + np.exp(-np.clip(logit / by, -500, 500)))
        return interval(lambda weight: metric(probability, label, balanced_weights(label, weight)))

    means, mean_label, mean_episode = episode_means(logit, label, episode)
    by_others = cross_fitted(logit, label, episode)
    figures = {
        "auc_decision": auc_of(logit),
        "auc_first": auc_of(logit, first),
        "auc_episode": bootstrap(lambda w: auc(means, mean_label, w), mean_episode, mean_label, seed=seed),
        "auc_no_pictures": auc_of(no_pictures),
        "auc_no_pictures_first": auc_of(no_pictures, first),
        "auc_clock": auc_of(clock),
        "over_clock": interval(lambda weight: auc(logit, label, weight) - auc(clock, label, weight)),
        "brier": calibrated(brier, by_others),
        "ece_before": calibrated(calibration_error, np.ones(len(logit))),
        "ece": calibrated(calibration_error, by_others),
    }
    counts = train_episodes | {"held_success": int(mean_label.sum()), "held_failure": int((1 - mean_label).sum())}
    plus, minus = float(logit[label > 0].mean()), float(logit[label == 0].mean())
    return Quality(figures, plus, minus, temperature, counts, len(label), twins)


def episode_means(logit: Array, label: Array, episode: NDArray[np.int64]) -> tuple[Array, Array, NDArray[np.int64]]:
    """Per episode: mean logit, label, name."""
    names, at = np.unique(episode, return_inverse=True)
    count = np.bincount(at)
    return np.bincount(at, logit) / count, np.bincount(at, label) / count, names
