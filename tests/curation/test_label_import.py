"""Labels from other people's tables: checked as a whole, and never guessed."""

import json
from pathlib import Path

import pytest

from svm_robot.curation.labels.from_file import Plan, read_plan
from svm_robot.curation.labels.table import as_json
from svm_robot.data.label_view import EpisodeLabel, LabelView
from svm_robot.data.labels import Label
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout import Outcome


def view_of(*kinds: str, length: int = 70) -> LabelView:
    """Episodes with the uids 100, 101, ... labelled so."""
    episodes = []
    for index, kind in enumerate(kinds):
        label = None if kind == "unlabelled" else Label(100 + index, Outcome(kind), "judge", 0.0, tags=("old",))
        outcome = label.outcome if label else None
        episodes.append(EpisodeLabel(index, 100 + index, length, outcome, label, None, 0 if label is None else 1))
    return LabelView(Path("d"), episodes, [])


VIEW = view_of("success", "failure", "unlabelled", "unsure")


@pytest.fixture
def plan(tmp_path: Path):
    def read(text: str | bytes, name: str = "labels.csv", view: LabelView = VIEW) -> Plan:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_plan(path, view)

    return read


def said(plan: Plan) -> list[tuple[int, str, str | None, tuple[str, ...] | None]]:
    return [(draft.uid, str(draft.outcome), draft.reason, draft.tags) for draft in plan.drafts]


@pytest.mark.parametrize(
    "text",
    [
        "episode,outcome,reason,tags\n1,success,looked again,slip;late\n2,f,,\n",
        "Episode;Outcome;Reason;Tags\r\n1;SUCCESS;looked again;slip,late\r\n2;failure;;\r\n",
        "uid\toutcome\treason\ttags\n101\t1\tlooked again\tslip, late\n102\tfalse\t\t\n",
        "\ufeffepisode,uid,outcome,reason,tags\n1,101,s,looked again,slip;late\n2,102,failure\n\n",
        'episode,outcome,reason,tags\n1.0,success,"looked again","slip, late"\n2.0,failure,,\n',
    ],
    ids=["commas", "a spreadsheet elsewhere", "tabs, by uid", "both names, BOM, short row", "from pandas"],
)
def test_tables_of_many_kinds_say_the_same(plan, text: str) -> None:
    found = plan(text)
    assert found.problems == ()
    assert said(found) == [(101, "success", "looked again", ("slip", "late")), (102, "failure", None, None)]
    assert found.rows[0] == "episode 1: failure -> success  tags slip, late  (looked again)"


def test_what_counts_anyway_is_not_said_again(plan) -> None:
    found = plan("episode,outcome,tags\n0,success,\n1,failure,old\n3,unsure,new\n2,,\n2, ,x\n")
    assert said(found) == [(103, "unsure", None, ("new",))]
    assert (found.already, found.silent, found.problems) == (2, 2, ())


def test_every_wrong_row_is_named_by_its_line(plan) -> None:
    text = """episode,uid,outcome,reason
0,,great,
9,,success,
-1,,success,
x,,success,
,,success,
1,100,success,
,77,failure,
0,,failure,
0,,success,
0,,failure,"a
b"
2,,success,
"""
    found = plan(text)
    assert [problem.partition(":")[0] for problem in found.problems] == [
        *(f"line {number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 12)),
    ]
    words = " | ".join(found.problems)
    for part in (
        "outcome 'great' is none; there are success, failure",
        "there is no episode 9; the dataset has 0 to 3",
        "no episode -1",
        "episode 'x' is no whole number",
        "it names no episode",
        "episode 1 has uid 101, not 100 (that is episode 0)",
        "there is no episode with uid 77",
        "line 10: episode 0 is another thing than in line 9",
    ):
        assert part in words


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "episode,label\n1,success\n", "unknown column 'label'"),
        ("a.csv", "episode\n1\n", "needed are the columns outcome"),
        ("a.csv", "outcome\nsuccess\n", "episode or uid"),
        ("a.csv", "episode,outcome,outcome\n1,success,failure\n", "two columns have the same name"),
        ("a.csv", "episode,outcome\n1,success,more\n", "line 2: 3 cells under 2 names"),
        ("a.csv", 'episode,outcome\n1,"succ\n', "line 2: unexpected end of data"),
        ("a.csv", "", "needed are the columns"),
        ("a.csv", "episode,outcome\n1,g\xfct\n".encode("latin-1"), "not UTF-8"),
        ("a.json", "{", "line 1: not JSON"),
        ("a.json", "3", "it holds no episodes"),
        ("a.json", "[3]", "entry 1 is no object"),
        ("a.json", '[{"episode": 1, "outcom": "success"}]', "unknown column 'outcom'"),
        ("a.json", '{"0": null, "sources": ["x"]}', "'sources' is no episode number"),
    ],
)
def test_what_is_no_table_of_labels(plan, name: str, text: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        plan(text, name)


def test_other_files_and_empty_ones(plan) -> None:
    with pytest.raises(ConfigError, match=r"\.csv, \.tsv or \.json"):
        plan("", "labels.xlsx")
    assert plan("episode,outcome\n").problems == ("it holds no label",)


def test_lists_and_objects_of_json(plan) -> None:
    entries = [{"episode": 1, "outcome": "success", "tags": ["slip"]}, {"uid": 102, "outcome": False, "by": "ada"}]
    found = plan(json.dumps(entries), "a.json")
    assert said(found) == [(101, "success", None, ("slip",)), (102, "failure", None, None)]
    assert found.drafts[1].by == "ada"
    assert plan('{"source": "mine", "0": "failure", "2": null}', "a.json").silent == 1


def test_what_the_list_prints_is_read_back_as_nothing_new(plan) -> None:
    found = plan(json.dumps(as_json(VIEW, VIEW.episodes)), "a.json")
    assert (found.problems, said(found), found.already, found.silent) == ((), [], 3, 1)


@pytest.mark.parametrize(
    ("value", "outcome", "reason"),
    [
        (None, "failure", "no frame of success"),
        ({"success_start": 34}, "success", "success in frames 34 to the end"),
        ({"ranges": [[40, 48], [60, None]]}, "success", "success in frames 40-48, 60 to the end"),
        ({"success_start": 41, "success_end": 43}, "unsure", "success in frames 41-43, not at the end: decide"),
        ({"ranges": [[41, 43]]}, "unsure", "success in frames 41-43, not at the end: decide"),
        ({"ranges": [[41, 69]]}, "success", "success in frames 41-69"),
        ({"success_start": 0, "exclude": [0, 3]}, "success", "success in frames 0 to the end; frames 0, 3 excluded"),
    ],
)
def test_frames_of_success_become_the_outcome_of_the_whole_episode(plan, value, outcome: str, reason: str) -> None:
    assert said(plan(json.dumps({"0": value}), "a.json")) == [(100, outcome, reason, None)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"success_start": 70}, "whose last one is 69"),
        ({"ranges": [[3, 99]]}, "frame 99"),
        ({"ranges": [[5, 3]]}, "run backwards"),
        ({"ranges": [[5, None], [8, 9]]}, "overlap"),
        ({"ranges": [[5, 8], [8, 9]]}, "overlap"),
        ({"ranges": [5, 8]}, "pairs of frames"),
        ({"ranges": [[None, 8]]}, "whole number from 0"),
        ({"success_start": 1.5}, "whole number from 0"),
        ({"success_start": True}, "whole number from 0"),
        ({"success_start": 1, "exclude": [-1]}, "whole number from 0"),
        ({"start": 3}, "success_start, success_end, ranges, exclude; got start"),
        ({}, "got nothing"),
    ],
)
def test_frames_that_make_no_sense(plan, value, message: str) -> None:
    problems = plan(json.dumps({"episodes": {"0": value}}), "a.json").problems
    assert len(problems) == 1 and problems[0].startswith("episode 0: ")
    assert message in problems[0]


@pytest.mark.data
def test_real_labels_of_a_real_arm(shared_data: Path) -> None:
    folder = shared_data / "hilserl-so101-labels"
    found, refused = {}, []
    for file in sorted(folder.glob("*.json")):
        try:
            plan = read_plan(file, view_of(*["unlabelled"] * 25, length=100))
        except DataError:
            refused.append(file.stem)
            continue
        assert plan.problems == ()
        outcomes = [str(draft.outcome) for draft in plan.drafts]
        found[file.stem] = tuple(outcomes.count(kind) for kind in ("success", "failure", "unsure"))
    assert refused == ["offline_v1", "reward_v1", "reward_v3", "reward_v4"], "recipes for merging hold no labels"
    assert found["grasp_only_positive"] == found["grasp_only_v1"] == (15, 0, 0)
    assert found["nighttime"] == found["nighttime_v1"] == (6, 4, 0)
    assert found["daytime_negative"] == found["daytime_negative_v1"] == (0, 4, 1)
    assert found["grasp_only_reward_v1"] == (19, 6, 0)
