"""Scores of every frame of a dataset, and what they say together."""

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from svm_robot.data.episodes import EpisodeData
from svm_robot.errors import DataError
from svm_robot.reward.metrics import auc, bootstrap
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.samples import Rows, episode_inputs
from svm_robot.rollout.episode import Outcome

Array = NDArray[np.float64]
COLUMNS = ("episode", "frame", "outcome", "decision", "logit", "clipped", "probability")
TIMED = 100
"""Moments that are scored one by one, as live, to time them."""


@dataclass(frozen=True)
class EpisodeScores:
    """T frames of one episode. Between decisions a per-decision reward keeps its last score."""

    index: int
    outcome: Outcome | None
    scored: NDArray[np.bool_]
    """(T,) True where f was asked, False where the score of the decision before it holds on."""
    logit: Array
    """(T,) raw log w+/w- [nats]."""
    clipped: Array
    """(T,) within [-beta, beta] [nats]."""
    probability: Array
    """(T,) calibrated P(success)."""


def scored_rows(model: SvmRewardModel, episode: EpisodeData) -> Rows:
    """Decisions for a reward that reads chunks or noise, every row for the others."""
    if not model.config.per_decision:
        return np.arange(len(episode))
    rows = np.flatnonzero(episode.decision)
    if not len(rows) or rows[0] != 0:
        raise DataError(f"episode {episode.index} does not begin with a decision")
    return rows


def score_episode(model: SvmRewardModel, episode: EpisodeData) -> EpisodeScores:
    """Ask f about every frame (or decision) of one episode. Raises ``DataError`` for a score that is not finite."""
    rows = scored_rows(model, episode)
    with torch.no_grad():
        inputs = episode_inputs(model, episode, rows).to(model.state_mean.device)
        logit = model.logits(inputs).double().cpu().numpy()
        probability = model.probability(inputs).double().cpu().numpy()
    if not np.isfinite(logit).all():
        bad = rows[~np.isfinite(logit)][0]
        raise DataError(f"episode {episode.index}, frame {bad}: the score is not finite; is the checkpoint damaged?")
    scored = np.zeros(len(episode), bool)
    scored[rows] = True
    hold = np.cumsum(scored) - 1
    beta = model.config.beta
    return EpisodeScores(
        episode.index, episode.outcome, scored, logit[hold], logit[hold].clip(-beta, beta), probability[hold]
    )


def write_csv(scores: Sequence[EpisodeScores], path: Path) -> None:
    """One row per frame, columns ``COLUMNS``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for episode in scores:
            outcome = "" if episode.outcome is None else str(episode.outcome)
            columns = (episode.scored, episode.logit, episode.clipped, episode.probability)
            for frame, (scored, *numbers) in enumerate(zip(*columns, strict=True)):
                writer.writerow([episode.index, frame, outcome, int(scored), *(f"{number:.6g}" for number in numbers)])


def summarise(scores: Sequence[EpisodeScores]) -> dict[str, Any]:
    """Counts, and where both outcomes are present, AUC per scored moment and of episode means [value, low, high]."""
    counts = {name: sum(e.outcome == name for e in scores) for name in (*Outcome, None)}
    usable = [e for e in scores if e.outcome in (Outcome.SUCCESS, Outcome.FAILURE)]
    summary: dict[str, Any] = {
        "episodes": {"unlabelled" if name is None else str(name): count for name, count in counts.items()},
        "frames": sum(len(e.logit) for e in scores),
        "moments_scored": int(sum(e.scored.sum() for e in scores)),
        "auc_moment": None,
        "auc_episode": None,
        "mean_logit": {},
    }
    for name in (Outcome.SUCCESS, Outcome.FAILURE):
        logits = [e.logit[e.scored] for e in usable if e.outcome is name]
        summary["mean_logit"][str(name)] = float(np.concatenate(logits).mean()) if logits else None
    if counts[Outcome.SUCCESS] and counts[Outcome.FAILURE]:
        summary |= {"auc_moment": _auc_moment(usable), "auc_episode": _auc_episode(usable)}
    return summary


def time_scores(
    model: SvmRewardModel, episode: EpisodeData, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """p50 and p95 of the time for one moment, scored alone as it would be live [ms]."""
    rows = scored_rows(model, episode)[:TIMED]
    times = []
    for row in rows:
        begin = clock()
        with torch.no_grad():
            model.probability(episode_inputs(model, episode, np.array([row])).to(model.state_mean.device))
        times.append(1e3 * (clock() - begin))
    p50, p95 = np.percentile(times, [50, 95])
    return {"p50": float(p50), "p95": float(p95)}


def _auc_moment(scores: Sequence[EpisodeScores]) -> list[float]:
    logit = np.concatenate([e.logit[e.scored] for e in scores])
    count = [int(e.scored.sum()) for e in scores]
    label = np.repeat([float(e.outcome is Outcome.SUCCESS) for e in scores], count)
    episode = np.repeat([e.index for e in scores], count)
    return bootstrap(lambda weight: auc(logit, label, weight), episode, label).as_list()


def _auc_episode(scores: Sequence[EpisodeScores]) -> list[float]:
    mean = np.array([e.logit[e.scored].mean() for e in scores])
    label = np.array([float(e.outcome is Outcome.SUCCESS) for e in scores])
    return bootstrap(lambda weight: auc(mean, label, weight), [e.index for e in scores], label).as_list()
