"""The diary of a run: what is written is read back, whatever happened between."""

import json
from pathlib import Path

import pytest

from svm_robot.data.journal import FILE, VERSION, Journal, read_journal
from svm_robot.errors import DataError


def test_events_come_back_in_order_with_their_values(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run")
    journal.write("run", seed=3, config={"rate_hz": 10.0}, note=None)
    journal.write("episode", episode=0, outcome="success")
    journal.write("episode", episode=1, outcome="failure")
    events = read_journal(tmp_path / "run")
    assert [event["kind"] for event in events] == ["run", "episode", "episode"]
    assert events[0] == {"version": VERSION, "kind": "run", "seed": 3, "config": {"rate_hz": 10.0}, "note": None}
    assert [event["episode"] for event in read_journal(tmp_path / "run", "episode")] == [0, 1]
    assert read_journal(tmp_path / "run", "evaluation") == []


def test_a_second_journal_of_the_same_run_appends(tmp_path: Path) -> None:
    Journal(tmp_path).write("run", seed=1)
    Journal(tmp_path).write("end", reason="resumed")
    assert [event["kind"] for event in read_journal(tmp_path)] == ["run", "end"]


@pytest.mark.parametrize("text", ["line\nbreak", "ünï ☃ \u2028 \u0085", '"quotes" \\ and {braces}'])
def test_any_text_stays_one_line(text: str, tmp_path: Path) -> None:
    Journal(tmp_path).write("run", task=text)
    Journal(tmp_path).write("end")
    assert read_journal(tmp_path)[0]["task"] == text
    assert len(read_journal(tmp_path)) == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_refused_and_leave_no_trace(value: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        Journal(tmp_path).write("learner", loss=value)
    with pytest.raises(DataError):
        read_journal(tmp_path)


def test_what_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        Journal(tmp_path).write("run", path=tmp_path)


@pytest.mark.parametrize("keep", [1, 10, 25, None])
def test_a_line_torn_by_a_power_cut_is_left_out_and_the_run_goes_on(keep: int | None, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write("run", seed=1)
    journal.write("episode", episode=0)
    path = tmp_path / FILE
    whole, torn = path.read_text().splitlines()
    path.write_text(f"{whole}\n{torn[:keep]}")
    assert [event["kind"] for event in read_journal(tmp_path)] == ["run"]
    journal.write("episode", episode=1)
    assert [event["kind"] for event in read_journal(tmp_path)] == ["run", "episode"]


def test_damage_in_the_middle_is_named_with_its_line(tmp_path: Path) -> None:
    Journal(tmp_path).write("run")
    with (tmp_path / FILE).open("a") as file:
        file.write("{half\n")
    Journal(tmp_path).write("end")
    with pytest.raises(DataError, match=r"line 2: not JSON"):
        read_journal(tmp_path)


@pytest.mark.parametrize("line", [{"kind": "run"}, {"version": VERSION + 1, "kind": "run"}])
def test_another_version_is_named(line: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps(line) + "\n")
    with pytest.raises(DataError, match=rf"line 1: version .*this tool reads {VERSION}"):
        read_journal(tmp_path)


@pytest.mark.parametrize("line", ["[1, 2]", "3", '"text"', f'{{"version": {VERSION}}}'])
def test_json_that_is_no_event_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(line + "\n")
    Journal(tmp_path).write("end")
    with pytest.raises(DataError, match="line 1"):
        read_journal(tmp_path)


def test_no_run_here(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="svm-robot finetune"):
        read_journal(tmp_path / "nowhere")
