"""Scores of a dataset and the video of them."""

import csv
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from reward_episodes import dataset, episode

from svm_robot.errors import DataError
from svm_robot.reward import overlay
from svm_robot.reward.fit import new_config
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.samples import episode_inputs
from svm_robot.reward.score import COLUMNS, EpisodeScores, score_episode, summarise, time_scores, write_csv
from svm_robot.rollout.episode import Outcome

DATA = dataset(3, 2, steps=10)


@pytest.fixture(scope="module")
def model() -> SvmRewardModel:
    torch.manual_seed(0)
    return SvmRewardModel(new_config(DATA, "noise", device="cpu"))


def made(index: int, outcome: Outcome | None, logit: list[float]) -> EpisodeScores:
    values = np.array(logit)
    return EpisodeScores(
        index, outcome, np.ones(len(logit), bool), values, values.clip(-20, 20), 1 / (1 + np.exp(-values))
    )


def test_between_decisions_the_last_score_holds(model: SvmRewardModel) -> None:
    scores = score_episode(model, DATA.episodes[0])
    assert np.flatnonzero(scores.scored).tolist() == [0, 4, 8]
    with torch.no_grad():
        asked = model.logits(episode_inputs(model, DATA.episodes[0], np.array([0, 4, 8]))).numpy()
    assert scores.logit == pytest.approx(np.repeat(asked, [4, 4, 2]))


def test_rewards_of_single_steps_score_every_frame() -> None:
    model = SvmRewardModel(new_config(DATA, "step", device="cpu"))
    assert score_episode(model, DATA.episodes[0]).scored.all()


def test_an_episode_that_begins_without_a_decision_is_named(model: SvmRewardModel) -> None:
    torn = replace(DATA.episodes[0], decision=np.arange(10) == 3)
    with pytest.raises(DataError, match="episode 0 does not begin with a decision"):
        score_episode(model, torn)


def test_a_score_that_is_not_finite_is_an_error_and_not_a_number() -> None:
    model = SvmRewardModel(new_config(DATA, "none", device="cpu"))
    torch.nn.init.constant_(model.head[-1].bias, float("inf"))
    with pytest.raises(DataError, match="episode 0, frame 0: the score is not finite"):
        score_episode(model, DATA.episodes[0])


def test_one_row_per_frame(model: SvmRewardModel, tmp_path: Path) -> None:
    scores = [score_episode(model, one) for one in DATA.episodes]
    write_csv(scores, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [(int(row["episode"]), int(row["frame"])) for row in rows] == [(e, t) for e in range(5) for t in range(10)]
    assert float(rows[14]["logit"]) == pytest.approx(scores[1].logit[4], rel=1e-4)
    assert rows[0]["outcome"] == str(DATA.episodes[0].outcome)


def test_the_summary_counts_and_ranks() -> None:
    scores = [
        made(0, Outcome.SUCCESS, [1, 3]),
        made(1, Outcome.FAILURE, [-1, 2]),
        made(2, Outcome.FAILURE, [-1, -3]),
        made(3, None, [50, 50]),
    ]
    summary = summarise(scores)
    assert summary["episodes"] == {"success": 1, "failure": 2, "unsure": 0, "aborted": 0, "unlabelled": 1}
    assert summary["frames"] == 8
    assert summary["auc_moment"][0] == pytest.approx(7 / 8)
    assert summary["auc_episode"] == [1.0, 1.0, 1.0]
    assert summary["mean_logit"] == {"success": 2.0, "failure": pytest.approx(-0.75)}


def test_the_summary_of_one_outcome_has_no_auc() -> None:
    summary = summarise([made(0, Outcome.SUCCESS, [1.0])])
    assert summary["auc_moment"] is None
    assert summary["mean_logit"] == {"success": 1.0, "failure": None}


def test_times_are_those_of_single_moments(model: SvmRewardModel) -> None:
    now = iter(np.arange(0, 100, 0.002))
    assert time_scores(model, DATA.episodes[0], clock=lambda: next(now)) == pytest.approx({"p50": 2.0, "p95": 2.0})


def test_the_video_has_every_frame_and_shows_the_outcome(model: SvmRewardModel, tmp_path: Path) -> None:
    shown = [next(e for e in DATA.episodes if e.outcome is outcome) for outcome in (Outcome.SUCCESS, Outcome.FAILURE)]
    shown = [replace(e, frames={r: p[:3] for r, p in e.frames.items()}, state=e.state[:3]) for e in shown]
    scores = [made(e.index, e.outcome, [0.5, -1.0, 4.0]) for e in shown]
    count = overlay.write_video(shown, scores, tmp_path / "scores.mp4", rate_hz=10.0)
    with av.open(str(tmp_path / "scores.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "h264"
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(pictures) == count == 2 * (3 + 10)
    assert pictures[0].shape == (overlay.HEIGHT, overlay.WIDTH, 3)
    for picture, colour in ((pictures[0], overlay.GREEN), (pictures[-1], overlay.WINE)):
        assert picture[32, overlay.WIDTH - 36].astype(int) == pytest.approx(colour, abs=12)


def test_the_curve_grows_with_time() -> None:
    one, scores = episode(0, Outcome.SUCCESS, steps=10), made(0, Outcome.SUCCESS, [3.0] * 10)
    scale = overlay.Scale(10, 4.0)
    early, late = (overlay.draw(one, scores, frame, scale)[overlay.HEADER + overlay.PICTURES :] for frame in (2, 9))
    row, inside = round(scale.y(1.5)), round(scale.x(6))
    assert early[row, inside].tolist() == list(overlay.PAPER)
    assert late[row, inside].tolist() != list(overlay.PAPER)


def test_successes_and_failures_are_shown_in_turn() -> None:
    outcomes = [Outcome.FAILURE] * 3 + [Outcome.SUCCESS] * 2 + [None]
    scores = [made(i, outcome, [0.0]) for i, outcome in enumerate(outcomes)]
    assert overlay.choose(scores, 4) == [3, 0, 4, 1]
    assert overlay.choose(scores, 99) == [3, 0, 4, 1, 2, 5]


@pytest.mark.parametrize(("probability", "words"), [(0.999, "> 99 %"), (0.001, "< 1 %"), (0.5, "50 %")])
def test_nothing_is_ever_certain(probability: float, words: str) -> None:
    assert overlay.percent(probability) == words
