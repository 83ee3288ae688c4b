"""What the numbers allow one to say, in words. Every comparison is decided by intervals, never by the rates alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from svm_robot.report.collect import Comparison, Group
from svm_robot.report.runs import FINISHED, REACHED, Rate
from svm_robot.report.words import capital, percent, spoken, thousands, title


class Tone(StrEnum):
    """How the page colours a statement."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    MISSING = "missing"
    NOTE = "note"


@dataclass(frozen=True)
class Statement:
    text: str
    tone: Tone


def tone(first: Rate, second: Rate) -> Tone:
    """``BETTER`` when the first interval lies wholly above the second, ``WORSE`` wholly below, else ``SAME``."""
    if first.low > second.high:
        return Tone.BETTER
    return Tone.WORSE if first.high < second.low else Tone.SAME


def headline(comparison: Comparison) -> Statement:
    """One sentence for the top of the page."""
    group = comparison.group("svm") or comparison.groups[0]
    rate, name = group.judged, title(group.shaping)
    if rate is None:
        return Statement("No evaluation yet: nothing can be said about success", Tone.MISSING)
    how = f"Finetuning with {name}" if group.shaping != "outcome" else "Finetuning on the outcome only"
    base, zero = comparison.base, comparison.zero_noise
    if base is None:
        return Statement(f"{how} ended at {percent(rate.value)} success; the base was not measured", Tone.MISSING)
    change = f"success from {percent(base.value)} to {percent(rate.value)}"
    beside = tone(rate, base)
    if beside is Tone.SAME:
        numbers = f"{percent(rate.value)} beside {percent(base.value)}"
        return Statement(f"No difference shown between the finetuned policy and its base ({numbers})", Tone.SAME)
    if beside is Tone.WORSE:
        return Statement(f"{how} lowered {change}", Tone.WORSE)
    if zero is None:
        return Statement(f"{how} raised {change}", Tone.BETTER)
    untrained = tone(rate, zero)
    words = {
        Tone.BETTER: "also above the same base with zero noise",
        Tone.WORSE: "but the same base with zero noise does better untrained",
        Tone.SAME: "but no difference to the same base with zero noise is shown",
    }
    return Statement(f"{how} raised {change}, {words[untrained]}", untrained)


def statements(comparison: Comparison) -> list[Statement]:
    """What is unfinished first, then the comparisons one by one, each with its numbers."""
    unfinished = [run for run in comparison.runs if run.state != FINISHED]
    found = [Statement(f"{run.name} did not finish: {run.state}.", Tone.MISSING) for run in unfinished]
    for group in comparison.groups:
        name = title(group.shaping)
        if group.judged is None:
            found.append(Statement(capital(f"{name}: not evaluated."), Tone.MISSING))
            continue
        if comparison.base is not None:
            found.append(beside(name, group.judged, "the base with sampled noise", comparison.base))
        if comparison.zero_noise is not None:
            found.append(beside(name, group.judged, "the base with zero noise", comparison.zero_noise))
    found += list(_forms(comparison))
    return found


def beside(first_name: str, first: Rate, second_name: str, second: Rate) -> Statement:
    """Compare two rates in words."""
    said = tone(first, second)
    numbers = f"{spoken(first)} against {spoken(second)}"
    words = {
        Tone.BETTER: f"{first_name} is better than {second_name}: {numbers}.",
        Tone.WORSE: f"{first_name} is worse than {second_name}: {numbers}.",
        Tone.SAME: f"No difference shown between {first_name} and {second_name}: {numbers}; the intervals overlap.",
    }
    return Statement(capital(words[said]), said)


def _forms(comparison: Comparison) -> Iterator[Statement]:
    svm, outcome = comparison.group("svm"), comparison.group("outcome")
    if svm is None or outcome is None:
        missing = "SVM" if svm is None else "outcome only"
        yield Statement(f"No run with {missing}: the two reward forms cannot be compared.", Tone.MISSING)
    elif svm.judged is not None and outcome.judged is not None:
        yield beside("SVM", svm.judged, "outcome only", outcome.judged)
        yield Statement(f"{speed(comparison.groups)} {UNEVEN}", Tone.NOTE)


UNEVEN = "With this few seeds, and evaluations this far apart, that is an observation, not a finding."


def speed(groups: Sequence[Group]) -> str:
    """When each seed was first evaluated at 80 % or more."""
    parts = []
    for group in groups:
        when = [thousands(run.reached.env_steps) if run.reached else "not reached" for run in group.runs]
        parts.append(f"{title(group.shaping)} {' / '.join(when)}")
    return f"First evaluation at {percent(REACHED)} or more, in environment steps per seed: {'; '.join(parts)}."
