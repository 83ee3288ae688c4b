"""The words under the charts: what a reader must be told in figures."""

from pathlib import Path

import pytest
from report_runs import MadeRun, write_run

from svm_robot.data.journal import read_journal
from svm_robot.report.collect import collect
from svm_robot.report.panels import panels


def said(*runs: Path) -> str:
    return next(panel.shows for panel in panels(collect(runs), []) if "discriminator tell" in panel.title)


@pytest.fixture
def svm(tmp_path: Path) -> Path:
    return write_run(tmp_path / "svm", MadeRun(budget=1500))


@pytest.fixture
def outcome(tmp_path: Path) -> Path:
    return write_run(tmp_path / "outcome", MadeRun("outcome", budget=1500))


def test_the_temperature_in_use_is_told_of_rewards_that_read_the_logit(svm: Path, outcome: Path) -> None:
    last = read_journal(svm, "learner")[-1]["temperature"]
    assert f"Temperature at the end: SVM {last:.2f}." in said(svm, outcome)
    assert "Temperature" not in said(outcome)


def test_early_decisions_are_told_apart_from_all(svm: Path, outcome: Path) -> None:
    assert "Their first decisions alone: SVM 0.70; outcome only 0.70." in said(svm, outcome)
