"""Words follow intervals: apart, overlapping, missing."""

from dataclasses import replace
from pathlib import Path

import pytest
from report_runs import MadeRun, write_run

from svm_robot.report.collect import Comparison, Group, collect
from svm_robot.report.honesty import honest_notes
from svm_robot.report.runs import Evaluation, Rate, Run
from svm_robot.report.verdict import Tone, headline, statements, tone


def run(shaping: str, rate: Rate, seed: int = 0) -> Run:
    last = Evaluation(8000, 13.3, rate.successes, rate.episodes, 45.0)
    about = {"shaping": shaping, "seed": seed, "robot_type": "virtual_so101"}
    return Run(Path(f"{shaping}-{seed}"), about, {}, [], [], [], [last], last, {"reason": "budget"}, 1, False)


def comparison(
    svm: Rate | None, outcome: Rate | None = None, base: Rate | None = None, zero: Rate | None = None
) -> Comparison:
    groups = [Group(name, [run(name, rate)]) for name, rate in (("svm", svm), ("outcome", outcome)) if rate]
    return Comparison(groups, base, zero, [])


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (Rate(95, 100), Rate(30, 100), Tone.BETTER),
        (Rate(30, 100), Rate(95, 100), Tone.WORSE),
        (Rate(95, 100), Rate(90, 100), Tone.SAME),
        (Rate(5, 5), Rate(1, 5), Tone.SAME),  # five episodes show nothing, whatever the rates
    ],
)
def test_intervals_decide(first: Rate, second: Rate, said: Tone) -> None:
    assert tone(first, second) is said


@pytest.mark.parametrize(
    ("given", "said", "colour"),
    [
        (comparison(Rate(95, 100), base=Rate(30, 100), zero=Rate(57, 100)), "also above the same base with", "better"),
        (
            comparison(Rate(70, 100), base=Rate(30, 100), zero=Rate(62, 100)),
            "no difference to the same base with zero noise is shown",
            "same",
        ),
        (
            comparison(Rate(60, 100), base=Rate(30, 100), zero=Rate(90, 100)),
            "the same base with zero noise does better untrained",
            "worse",
        ),
        (comparison(Rate(95, 100), base=Rate(30, 100)), "raised success from 30", "better"),
        (comparison(Rate(35, 100), base=Rate(30, 100)), "No difference shown", "same"),
        (comparison(Rate(5, 100), base=Rate(30, 100)), "lowered success from 30", "worse"),
        (comparison(Rate(95, 100)), "the base was not measured", "missing"),
        (comparison(None, Rate(95, 100), Rate(30, 100)), "Finetuning on the outcome only raised", "better"),
    ],
)
def test_headline(given: Comparison, said: str, colour: str) -> None:
    found = headline(given)
    assert said in found.text
    assert found.tone == colour


def test_reward_forms_with_overlapping_intervals_are_not_ranked() -> None:
    found = statements(comparison(Rate(95, 100), Rate(90, 100)))
    assert any(s.text.startswith("No difference shown between SVM and outcome only") for s in found)
    assert not any("better" in s.text for s in found)


def test_reward_forms_apart_are_ranked_either_way() -> None:
    assert statements(comparison(Rate(95, 100), Rate(50, 100)))[0].text.startswith("SVM is better than outcome only")
    assert statements(comparison(Rate(50, 100), Rate(95, 100)))[0].text.startswith("SVM is worse than outcome only")


def test_one_form_alone_is_said() -> None:
    assert "No run with outcome only" in statements(comparison(Rate(95, 100)))[-1].text
    assert "No run with SVM" in statements(comparison(None, Rate(95, 100)))[-1].text


def test_a_run_without_evaluations_claims_nothing(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", MadeRun(budget=300), final=False)
    found = collect([folder])
    assert headline(found).text.startswith("No evaluation yet")
    assert statements(found)[0].tone is Tone.MISSING


@pytest.mark.parametrize(
    ("biases", "said"),
    [((-16.6, -16.6), "same value whatever the reward"), ((-16.6, 0.0), "did NOT all start"), (None, "do not say")],
)
def test_critics_that_start_apart_are_told(biases: tuple[float, float] | None, said: str) -> None:
    groups = []
    for name, bias in zip(("svm", "outcome"), biases or (None, None), strict=True):
        made = run(name, Rate(9, 10))
        groups.append(Group(name, [replace(made, about={**made.about, "critic_start": bias})]))
    assert any(said in note for note in honest_notes(Comparison(groups, None, None, [])))


def test_an_unfinished_run_is_said_before_any_number(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "half", MadeRun(budget=2500), end=False, final=False)
    first = statements(collect([folder]))[0]
    assert first.text.startswith("half did not finish: no end in the journal")
    assert first.tone is Tone.MISSING


def test_one_seed_is_called_an_indication() -> None:
    notes = honest_notes(comparison(Rate(95, 100)))
    assert any("one training seed only" in note for note in notes)
    assert any("zero was not measured" in note or "zero noise was not measured" in note for note in notes)
