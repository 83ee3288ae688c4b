"""``svm-robot report``: what it writes, and that refused input changes nothing."""

import json
from pathlib import Path

import pytest
from report_runs import MadeRun, write_examples, write_run

from svm_robot.scripts.main import main


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", MadeRun(budget=700, eval_every=400))


def test_writes_page_and_figures(tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_examples(run)
    page, figures = tmp_path / "report.html", tmp_path / "summary.json"
    (tmp_path / "stages.json").write_text('{"record <1>": 14.5}')
    stages = f"--stages={tmp_path / 'stages.json'}"
    assert main(["report", str(run), f"--out={page}", f"--summary={figures}", stages]) == 0
    said = capsys.readouterr().out
    assert "raised success" in said or "No difference shown" in said
    assert str(page) in said
    assert page.read_text().startswith("<!doctype html>")
    assert "record &lt;1&gt;" in page.read_text()
    assert json.loads(figures.read_text())["seconds_by_stage"]["record <1>"] == 14.5
    assert json.loads(figures.read_text())["svm"]["episodes"] == 50


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "expected"),
        (["nowhere"], 3, "no run in nowhere"),
        (["run", "run"], 3, "twice"),
        (["run", "--out=run"], 2, "is a folder"),
        (["run", "--outt=x.html"], 2, "outt"),
        (["run", "--base=nowhere"], 3, "nowhere"),
        (["run", "--stages=nowhere.json"], 3, "nowhere.json"),
        (["run", "--stages=run/journal.jsonl"], 3, "not a JSON object"),
    ],
)
def test_wrong_input_is_one_line_and_changes_nothing(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    words: list[str], code: int, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["report", *words]) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
