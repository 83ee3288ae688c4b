"""What a reader must know before believing the charts: baselines, fairness, seeds, and what was not measured."""

from collections.abc import Iterator

from svm_robot.report.collect import Comparison
from svm_robot.report.words import capital, percent, spoken, title


def honest_notes(comparison: Comparison) -> list[str]:
    """Sentences for the page, computed from the runs."""
    return [
        _zero_noise(comparison),
        _critics(comparison),
        _checkpoint(comparison),
        *_seeds(comparison),
        *_left_out(comparison),
        "Evaluation episodes are extra: environment steps and robot minutes count training and recorded data only.",
        *_not_measured(comparison),
        *(f"Not quite comparable: {difference}." for difference in comparison.differences),
    ]


def _zero_noise(comparison: Comparison) -> str:
    if comparison.zero_noise is None:
        return "The base with zero noise was not measured, so part of the gain may need no learning at all."
    return (
        f"The pretrained policy with its noise set to zero, untrained, succeeds in {spoken(comparison.zero_noise)}. "
        "Finetuning is worth its cost only above that line, not only above the sampled base."
    )


def _critics(comparison: Comparison) -> str:
    """Critics that start at zero are optimistic under step costs and make outcome-only look bad for a while."""
    found = {str(run.about.get("critic_start")) for run in comparison.runs}
    if "None" in found:
        return (
            "The journals do not say at which value the critics started. Critics that start too high make the "
            "outcome-only reward look worse than it is for a while."
        )
    values = ", ".join(sorted(found))
    if len(found) == 1:
        return f"All critics started at the same value whatever the reward ({values}), so none has a head start."
    return f"The critics did NOT all start at the same value ({values}): part of any difference may come from that."


def _checkpoint(comparison: Comparison) -> str:
    if all(group.checked_afresh for group in comparison.groups):
        return (
            "During a run the checkpoint with the best evaluation is kept. The rates above come from fresh episodes "
            "run afterwards with that checkpoint, because the best of many looks is too good on average."
        )
    return (
        "The rates above are the last evaluation of each run, not the best one: the best of many looks is too good on "
        "average. They were not checked again with fresh episodes afterwards."
    )


def _seeds(comparison: Comparison) -> Iterator[str]:
    for group in comparison.groups:
        rates = [percent(run.last.rate.value) for run in group.runs if run.last is not None]
        if len(group.runs) == 1:
            yield f"{capital(title(group.shaping))}: one training seed only. That is an indication, not a finding."
        elif rates:
            yield (
                f"{capital(title(group.shaping))}: {len(group.runs)} training seeds ({', '.join(rates)}). "
                "The intervals count evaluation episodes; they do not say how much another training seed would differ."
            )


def _left_out(comparison: Comparison) -> Iterator[str]:
    left = [e.outcome for run in comparison.runs for e in run.episodes if e.outcome not in ("success", "failure")]
    if left:
        kinds = ", ".join(f"{left.count(kind)} {kind}" for kind in sorted(set(left)))
        yield f"Episodes that trained nothing and count as neither success nor failure: {kinds}."
    for run in comparison.runs:
        if run.torn:
            yield f"The journal of {run.name} ends in a torn line (power cut or kill); that event is missing here."


def _not_measured(comparison: Comparison) -> Iterator[str]:
    robots = {str(run.about.get("robot_type")) for run in comparison.runs}
    where = "a simulated robot" if all("virtual" in robot for robot in robots) else "one robot cell"
    yield f"Not measured: other tasks, other base policies, and anything outside {where}."
