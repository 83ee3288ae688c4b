"""The charts of the page, each with one sentence on how to read it and what this comparison shows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import fmean

from matplotlib.figure import Figure

from svm_robot.report import charts, health
from svm_robot.report.collect import Comparison
from svm_robot.report.episode_chart import episode_chart
from svm_robot.report.examples import Example
from svm_robot.report.runs import DiscriminatorPoint, LearnerPoint, Run
from svm_robot.report.style import svg_uri
from svm_robot.report.verdict import speed
from svm_robot.report.words import capital, percent, signed, spoken, thousands, title


@dataclass(frozen=True)
class Panel:
    """One chart with its words. ``image`` is a ``data:`` address; None when the runs did not record what it shows."""

    title: str
    image: str | None
    how: str
    shows: str


def panels(
    comparison: Comparison, examples: Sequence[Example], stages: Mapping[str, float] | None = None
) -> list[Panel]:
    """All charts in the order of the page."""
    return [
        _panel("Success over what was spent", charts.success_chart(comparison), SUCCESS, _success(comparison)),
        _panel("Success while learning", charts.online_chart(comparison), ONLINE, _online(comparison)),
        *(_example(example) for example in examples),
        _panel(
            "Can the discriminator tell success from failure?",
            health.discriminator_chart(comparison),
            DISCRIMINATOR,
            _discriminator(comparison),
        ),
        _panel("Visitation gap", health.gap_chart(comparison), GAP, _gap(comparison)),
        _panel("Length of episodes", charts.length_chart(comparison), LENGTH, _length(comparison)),
        _panel("Health of the learner", health.learner_chart(comparison), LEARNER, _kl(comparison)),
        _panel(
            "Where the time went",
            health.seconds_chart(list(_bars(comparison, stages or {}))),
            SECONDS,
            _seconds(comparison),
        ),
    ]


SUCCESS = (
    "Each point is an evaluation on fresh episodes without learning. Thick lines are means over seeds, thin lines "
    "single seeds, shaded bands 95\u202f% intervals of the episodes counted. The dashed and dotted lines are the "
    "policy before any finetuning; the thin grey line marks 80\u202f%."
)
ONLINE = (
    f"The share of successes among the last {charts.WINDOW} training episodes, one line per run. The policy still "
    "explores here, so these lines usually lie below the evaluations."
)
EPISODE = (
    "The curve is the discriminator's logit at each decision: above zero the moment looks more like the successes "
    "seen so far, below zero more like the failures. The pictures show what the cameras saw at the dotted lines."
)
DISCRIMINATOR = (
    "Left: each new episode is scored BEFORE anything is trained on it; 1 means every success scored above every "
    "failure, 0.5 is guessing. Late moments are easy, so the AUC of the first decisions is told too. Right: how far "
    "apart the two kinds of episode lie. A discriminator is surer than it is right: its logit is divided by the "
    "temperature before it becomes reward, so at a temperature of 3 a logit of 3 nats counts as 1."
)
GAP = (
    "The mean logit over the policy's own recent episodes. It estimates how much nearer to the successes than to the "
    "failures the policy's behaviour lies, in nats per decision: negative is nearer to failure, positive "
    "nearer to success."
)
LENGTH = (
    "Episodes end at success, so good policies have short ones. Lines that rise to the time limit while the "
    "logits stay high would mean loitering: collecting reward instead of finishing."
)
LEARNER = (
    "Expected return should rise and settle; entropy should fall slowly; the distance to the base noise tells how far "
    "steering has moved from what was pretrained (exact KL of the steering noise, policy to N(0, I))."
)
SECONDS = (
    "Wall-clock seconds on the machine that ran it, per stage. In simulation this is computing time, not robot time."
)


def _panel(name: str, figure: Figure | None, how: str, shows: str) -> Panel:
    if figure is None:
        return Panel(name, None, how, "Not recorded in these runs.")
    return Panel(name, svg_uri(figure), how, shows)


def _example(example: Example) -> Panel:
    kind = "A success" if example.outcome == "success" else "A failure"
    name = f"{kind}, {example.phase} in the run (episode {example.episode})"
    logits = [float(value) for value in example.logit if isfinite(value)]
    shows = f"{example.steps} control steps"
    if logits:
        shows += f"; the logit starts at {signed(logits[0])} and ends at {signed(logits[-1])} nats"
    how = EPISODE if example.scored else "What the cameras saw; there was no score yet."
    return _panel(name, episode_chart(example), how, shows + ".")


def _success(comparison: Comparison) -> str:
    if not any(run.evaluations for run in comparison.runs):
        return "No run was evaluated on the way."
    last = [f"{title(g.shaping)} ended at {spoken(g.judged)}" for g in comparison.groups if g.judged is not None]
    return f"{capital('; '.join(last))}. {speed(comparison.groups)}"


def _online(comparison: Comparison) -> str:
    def last(run: Run) -> float:
        recent = run.decided[-charts.WINDOW :]
        return fmean(point.outcome == "success" for point in recent) if recent else float("nan")

    return _each(comparison, f"Successes among the last {charts.WINDOW} episodes", last, percent)


def _gap(comparison: Comparison) -> str:
    def ends(run: Run) -> tuple[float, float]:
        values = [p.visitation_gap_nats for p in run.discriminator if isfinite(p.visitation_gap_nats)]
        return (values[0], values[-1]) if values else (float("nan"), float("nan"))

    first = _each(comparison, "First measured", lambda run: ends(run)[0], signed)
    return f"{first} {_each(comparison, 'Last', lambda run: ends(run)[1], signed)}"


def _length(comparison: Comparison) -> str:
    return _each(
        comparison,
        "Mean steps at the last evaluation",
        lambda run: run.last.mean_steps if run.last else float("nan"),
        "{:.0f}".format,
    )


def _kl(comparison: Comparison) -> str:
    return _each(
        comparison,
        "KL to the base noise at the end [nats per decision]",
        lambda run: run.learner[-1].kl_nats if run.learner else float("nan"),
        "{:.1f}".format,
    )


def _discriminator(comparison: Comparison) -> str:
    def temperature(run: Run) -> float:
        return _last(run.learner, "temperature") if run.shaping != "outcome" else nan  # that reward reads no logit

    every = _each(comparison, "AUC over the last episodes", lambda run: _last(run.discriminator, "auc_recent"))
    early = _each(comparison, "Their first decisions alone", lambda run: _last(run.discriminator, "auc_recent_first"))
    if all(run.shaping == "outcome" for run in comparison.runs):
        return f"{every} {early}"
    return f"{every} {early} {_each(comparison, 'Temperature at the end', temperature)}"


def _last(points: Sequence[DiscriminatorPoint | LearnerPoint], name: str) -> float:
    """The newest figure of this name that was measured."""
    return next((value for value in (getattr(p, name) for p in reversed(points)) if isfinite(value)), nan)


def _each(
    comparison: Comparison, what: str, value: Callable[[Run], float], write: Callable[[float], str] = "{:.2f}".format
) -> str:
    """``what: SVM 0.97 / 0.95; outcome only 0.96.`` One number per seed; runs without one are left out."""
    parts = []
    for group in comparison.groups:
        numbers = [write(number) for number in map(value, group.runs) if isfinite(number)]
        if numbers:
            parts.append(f"{title(group.shaping)} {' / '.join(numbers)}")
    return f"{what}: {'; '.join(parts)}." if parts else f"{what}: not recorded."


def _bars(comparison: Comparison, stages: Mapping[str, float]) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    for stage, seconds_used in stages.items():
        yield stage, [("whole stage", seconds_used)]
    for run in comparison.runs:
        seconds = (run.end or {}).get("seconds_by_stage") or {}
        yield f"{title(run.shaping)}, seed {run.seed}", [(str(k), float(v)) for k, v in seconds.items()]


def _seconds(comparison: Comparison) -> str:
    timings = [(run.end or {}).get("live_score_ms") or {} for run in comparison.runs]
    known = [timing for timing in timings if timing.get("p50") is not None and timing.get("p95") is not None]
    used = _each(comparison, "Environment steps", lambda run: float(run.env_steps), thousands)
    if not known:
        return used
    p50, p95 = fmean(float(t["p50"]) for t in known), max(float(t["p95"]) for t in known)
    return f"{used} The live score took {p50:.1f} ms a frame (median), {p95:.1f} ms at the 95th percentile."
