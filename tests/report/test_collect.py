"""From journals to figures: exact numbers from a hand-made diary, and honest treatment of what is missing."""

import json
import re
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from report_runs import MadeRun, write_run

from svm_robot.data.journal import FILE, Journal
from svm_robot.errors import DataError
from svm_robot.report.collect import collect
from svm_robot.report.page import render
from svm_robot.report.runs import Rate, read_run
from svm_robot.report.summary import summary, write_summary
from svm_robot.stats import wilson


def diary(folder: Path, evaluations: list[tuple[int, int]], **about: Any) -> Path:
    """A run with 50-episode evaluations at (env_steps, successes) and nothing else."""
    journal = Journal(folder)
    journal.write("run", **{"shaping": "svm", "seed": 0, "policy": "p", **about})
    for env_steps, successes in evaluations:
        journal.write("evaluation", env_steps=env_steps, robot_minutes=env_steps / 600, successes=successes,
                      episodes=50, mean_steps=40.0, best=True)  # fmt: skip
    return folder


def test_golden_numbers_of_two_seeds(tmp_path: Path) -> None:
    first = diary(tmp_path / "a", [(2000, 20), (4000, 41), (6000, 45)], seed=0)
    second = diary(tmp_path / "b", [(2010, 10), (4030, 39), (6050, 48)], seed=1)
    (group,) = collect([second, first]).groups
    assert [run.seed for run in group.runs] == [0, 1]
    assert group.judged == Rate(93, 100)
    assert (group.judged.low, group.judged.high) == wilson(93, 100)
    assert [point.env_steps for point in group.pooled] == [2005, 4015, 6025]
    assert [point.rate for point in group.pooled] == [Rate(30, 100), Rate(80, 100), Rate(93, 100)]
    assert [run.reached.env_steps if run.reached else None for run in group.runs] == [4000, 6050]


def test_the_final_check_counts_before_the_last_evaluation(tmp_path: Path) -> None:
    run = diary(tmp_path / "a", [(2000, 50), (4000, 30)])
    assert collect([run]).groups[0].judged == Rate(30, 50)  # never the best of many looks
    Journal(run).write("final", env_steps=4000, robot_minutes=7.0, successes=80, episodes=100, mean_steps=40.0)
    group = collect([run]).groups[0]
    assert group.judged == Rate(80, 100)
    assert group.checked_afresh


def test_the_final_check_of_a_shorter_budget_is_not_that_of_the_resumed_run(tmp_path: Path) -> None:
    run = diary(tmp_path / "a", [(2000, 50)])
    Journal(run).write("final", env_steps=2000, robot_minutes=3.0, successes=45, episodes=50, mean_steps=40.0)
    diary(run, [(4000, 30)])
    assert read_run(run).final is None
    assert collect([run]).groups[0].judged == Rate(30, 50)


def test_a_resume_drops_what_the_checkpoint_took_back(tmp_path: Path) -> None:
    run = diary(tmp_path / "a", [(2000, 20), (4000, 41), (6000, 45)])
    diary(run, [(4000, 25), (6010, 30)])
    found = read_run(run)
    assert [(e.env_steps, e.successes) for e in found.evaluations] == [(2000, 20), (4000, 25), (6010, 30)]
    assert found.starts == 2


def test_an_end_before_a_resume_is_not_the_end(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", MadeRun(budget=400))
    assert read_run(run).state == "finished"
    diary(run, [])
    assert read_run(run).state.startswith("no end in the journal")


def test_a_torn_last_line_is_said(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", MadeRun(budget=400))
    text = (run / FILE).read_text()
    (run / FILE).write_text(text[:-40])
    found = read_run(run)
    assert found.torn
    assert "torn" in found.state
    assert any("did not finish" in reason for reason in collect([run]).differences)


def test_a_run_resumed_after_a_torn_line_stays_readable(tmp_path: Path) -> None:
    run = diary(tmp_path / "a", [(2000, 20), (4000, 41)])
    (run / FILE).write_bytes((run / FILE).read_bytes()[:-30])
    diary(run, [(4005, 33)])
    assert [(e.env_steps, e.successes) for e in read_run(run).evaluations] == [(2000, 20), (4005, 33)]


def test_runs_of_one_seed_share_their_baseline(tmp_path: Path) -> None:
    made = [MadeRun(shaping, seed, budget=200) for shaping in ("svm", "outcome") for seed in (0, 1)]
    runs = [write_run(tmp_path / f"{m.shaping}-{m.seed}", m) for m in made]
    comparison = collect(runs)
    assert comparison.base == Rate(30 + 31, 200)  # two seeds, not four runs
    assert comparison.zero_noise == Rate(114, 200)
    assert [group.shaping for group in comparison.groups] == ["svm", "outcome"]
    assert comparison.differences == []


def test_what_differs_is_named(tmp_path: Path) -> None:
    svm = write_run(tmp_path / "s", MadeRun("svm", 0, budget=200))
    about = {"identity": {"policy": "4b5a", "reward": "2d3c"}, "config": {"learner": {"gamma": 0.9}}}
    other = MadeRun("outcome", 1, budget=200, about=about)
    text = "; ".join(collect([svm, write_run(tmp_path / "o", other)]).differences)
    assert "policy differs: 0f1e, 4b5a" in text and "reward differs" not in text
    assert "learner.gamma differs: 0.9, 0.98" in text
    assert "seeds differ: outcome [1], svm [0]" in text


def test_missing_numbers_stay_missing(tmp_path: Path) -> None:
    run = diary(tmp_path / "a", [])
    Journal(run).write("discriminator", env_steps=10, loss=0.5)
    found = read_run(run)
    assert isnan(found.discriminator[0].auc_recent)
    assert found.last is None
    assert collect([run]).groups[0].judged is None
    assert summary(collect([run]))["svm"]["measured"] == "not evaluated"


def test_summary_file_round_trip(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / s, MadeRun(s, budget=4500)) for s in ("svm", "outcome")]
    write_summary(tmp_path / "out" / "summary.json", collect(runs), {"record": 14.5})
    content = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert content["base"] == {"successes": 30, "episodes": 100, "rate": 0.3, "low": 0.2189, "high": 0.3959}
    for shaping in ("svm", "outcome"):
        (run,) = content[shaping]["per_seed"]
        assert content[shaping]["successes"] == run["successes"]
        assert content[shaping]["low"] < content[shaping]["rate"] < content[shaping]["high"]
        assert len(run["evaluations"]) == 2
        assert run["env_steps"] >= 4500
    assert content["seconds_by_stage"]["record"] == 14.5
    assert content["seconds_by_stage"]["finetune svm"]["learner"] == 58.2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summary.json"]


def test_episodes_without_a_verdict_are_no_rate(tmp_path: Path) -> None:
    run = diary(tmp_path / "a", [(2000, 20)])
    Journal(run).write("baseline", noise="zero", successes=0, episodes=0, mean_steps=0.0)
    Journal(run).write("evaluation", env_steps=4000, robot_minutes=7.0, successes=0, episodes=0, mean_steps=0.0)
    Journal(run).write("final", env_steps=4000, robot_minutes=7.0, successes=0, episodes=0, mean_steps=0.0)
    comparison = collect([run])
    assert comparison.groups[0].judged == Rate(20, 50)
    assert not comparison.groups[0].checked_afresh
    assert comparison.zero_noise is None
    assert not re.search(r"\bnan\b", render(comparison, []))


def test_svm_only_says_outcome_is_missing(tmp_path: Path) -> None:
    content = summary(collect([write_run(tmp_path / "a", MadeRun(budget=200))]))
    assert content["svm"] is not None
    assert content["outcome"] is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (None, "no run in"),
        ("", "no 'run' event"),
        ('{"version": 1, "kind": "episode"}\n', "no 'run' event"),
        ('{"version": 7, "kind": "run"}\n', "version 7"),
        ('{"version": 1, "kind": "run", "shaping": "svm"}\n', "lacks 'seed'"),
        ('{"version": 1, "kind": "run", "shaping": "svm", "seed": 0}\n{"version": 1, "kind": "evaluation"}\n', "lacks"),
        ('not json\n{"version": 1, "kind": "run"}\n', "line 1"),
    ],
)
def test_a_folder_that_is_no_run_is_refused_in_one_line(tmp_path: Path, lines: str | None, said: str) -> None:
    if lines is not None:
        (tmp_path / FILE).write_text(lines)
    with pytest.raises(DataError, match=said) as caught:
        collect([tmp_path])
    assert "\n" not in str(caught.value)


def test_no_run_and_one_run_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run given"):
        collect([])
    run = diary(tmp_path / "a", [])
    with pytest.raises(DataError, match="twice: a"):
        collect([run, tmp_path / "." / "a"])
