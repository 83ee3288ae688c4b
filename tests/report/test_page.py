"""The page: it holds the numbers, needs nothing from outside, and believes no text it is given."""

import re
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import pytest
from report_runs import Curve, MadeRun, write_examples, write_run

from svm_robot.report.charts import length_chart, online_chart, success_chart
from svm_robot.report.collect import Comparison, collect
from svm_robot.report.episode_chart import episode_chart
from svm_robot.report.health import gap_chart
from svm_robot.report.page import kept_examples, render, write_page
from svm_robot.report.style import svg_uri

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """Checks nesting and gathers what a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Outline:
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    return outline


@pytest.fixture(scope="module")
def two_by_two(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    root = tmp_path_factory.mktemp("runs")
    runs = []
    for seed in (0, 1):
        runs.append(write_run(root / f"svm-{seed}", MadeRun("svm", seed, Curve(0.3, 0.97, 2600))))
        runs.append(write_run(root / f"outcome-{seed}", MadeRun("outcome", seed, Curve(0.25, 0.9, 4300))))
    write_examples(runs[0])
    return collect(runs)


@pytest.fixture(scope="module")
def page(two_by_two: Comparison) -> str:
    return render(two_by_two, kept_examples(two_by_two), {"record": 15.2})


def test_it_needs_nothing_from_outside(page: str) -> None:
    outline = read(page)
    assert not outline.tags & {"script", "link", "iframe", "object", "embed", "base"}
    assert outline.addresses
    assert all(re.match(r"data:image/(svg\+xml|png);base64,", address) for address in outline.addresses)
    assert not re.search(r"https?://|//[a-z]|@import|url\(", page)
    assert "default-src 'none'" in page


def test_it_holds_the_numbers(page: str, two_by_two: Comparison) -> None:
    text = re.sub(r"(?<=\d)\u202f(?=\d{3})", "", " ".join(read(page).text)).replace("\u202f", " ")
    svm = two_by_two.group("svm")
    assert svm is not None
    assert svm.judged is not None
    assert f"{svm.judged.value:.0%}".replace("%", " %") in text
    assert f"{100 * svm.judged.low:.0f} to {100 * svm.judged.high:.0f} %" in text
    assert f"{svm.judged.successes} of {svm.judged.episodes} episodes" in text
    for run in two_by_two.runs:
        assert str(run.env_steps) in text
        assert f"{run.robot_minutes:.1f}" in text
    for word in (
        "Wilson interval",
        "nats per decision",
        "zero noise",
        "Visitation gap",
        "the same value whatever the reward",
        "0.6.1",
    ):
        assert word in text
    assert "nan" not in text.lower().split()


def test_every_chart_is_there_and_has_words(page: str) -> None:
    titles = re.findall(r"<h3>(.*?)</h3>", page)
    assert len(titles) == 9
    assert len(re.findall(r'<img src="data:image/svg', page)) == 9
    assert page.count("<b>Here:</b>") == 9
    assert "Not recorded" not in page


def test_the_same_runs_give_the_same_page(page: str, two_by_two: Comparison) -> None:
    for example in kept_examples(two_by_two):
        assert svg_uri(episode_chart(example)) in page
    assert svg_uri(success_chart(two_by_two)) in page


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    evil = '<script>alert("x")</script><img src=x onerror=alert(1)>{{ 7*7 }}'
    about = {"task": evil, "robot_type": evil, "policy": evil, "versions": {evil: evil}, "config": {evil: evil}}
    folder = write_run(tmp_path / "a", MadeRun(budget=300, about=about))
    page = render(collect([folder]), [])
    outline = read(page)
    assert "script" not in outline.tags
    assert "&lt;script&gt;" in page
    assert "{{ 7*7 }}" in "".join(outline.text)


def test_a_run_with_nothing_but_its_first_line(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", MadeRun(budget=0), end=False, final=False)
    page = render(collect([folder]), [])
    read(page)
    assert "No evaluation yet" in page
    assert "no end in the journal" in page
    assert page.count("Not recorded in these runs.") == 6


@pytest.mark.parametrize("shaping", ["svm", "outcome", "potential"])
def test_one_form_alone(tmp_path: Path, shaping: str) -> None:
    folder = write_run(tmp_path / "a", MadeRun(shaping, budget=900, eval_every=400))
    page = render(collect([folder]), [])
    read(page)
    assert "cannot be compared" in page


def test_the_gap_has_a_second_axis_in_nats_per_control_step(two_by_two: Comparison) -> None:
    chart = gap_chart(two_by_two)
    assert chart is not None
    assert [axis.get_ylabel() for axis in chart.axes[0].child_axes] == ["nats per control step (4 steps a decision)"]


def test_a_further_form_has_one_colour_in_tiles_and_charts(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / form, MadeRun(form, budget=900, eval_every=400)) for form in ("svm", "potential")]
    comparison = collect(runs)
    (line,) = (line for line in success_chart(comparison).axes[0].lines if "potential" in str(line.get_label()))
    assert f"--own: {line.get_color()}" in render(comparison, [])


def test_a_form_is_named_though_its_first_run_is_too_short_to_draw(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / str(seed), MadeRun(seed=seed, budget=b)) for seed, b in ((0, 300), (1, 3000))]
    for chart in (online_chart(collect(runs)), length_chart(collect(runs))):
        assert chart is not None
        assert chart.axes[0].get_legend_handles_labels()[1] == ["SVM reward (2 seeds)"]


def test_seeds_that_stopped_early_do_not_bend_the_mean(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / str(s), MadeRun(seed=s, budget=b)) for s, b in ((0, 8000), (1, 4100))]
    group = collect(runs).groups[0]
    assert [len(run.evaluations) for run in group.runs] == [4, 2]
    assert len(group.pooled) == 2


def test_the_users_own_matplotlib_settings_are_left_alone(two_by_two: Comparison) -> None:
    with mpl.rc_context({"font.size": 31.0}):
        before = dict(mpl.rcParams)
        svg_uri(success_chart(two_by_two))
        assert dict(mpl.rcParams) == before


def test_written_whole(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", MadeRun(budget=0), final=False)
    write_page(tmp_path / "sub" / "report.html", collect([folder]), [])
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["report.html"]


def test_a_page_stays_small(page: str) -> None:
    assert len(page) < 2_000_000
