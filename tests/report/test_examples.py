"""What is kept of a run to look at: which episodes, which pictures, and that a file is whole or absent."""

from pathlib import Path

import numpy as np
import pytest
from toys import ToyEnv, ToyOperator, ToyPolicy

from svm_robot.errors import DataError
from svm_robot.report.examples import FOLDER, ExampleKeeper, read_example, read_examples
from svm_robot.report.filmstrip import FilmStrip, shrink
from svm_robot.rollout import Outcome, Step, run_episode


def score(step: Step) -> tuple[float, float]:
    return float(step.index), 0.5


def play(keeper: ExampleKeeper, episodes: int, first: int = 0) -> None:
    env = ToyEnv()
    for episode in range(first, first + episodes):
        policy = ToyPolicy(wrong=episode % 2 == 1)
        run_episode(env, policy, ToyOperator(env), max_steps=20, task="lift", seed=episode, listeners=[keeper])


def test_keeps_a_success_and_a_failure_of_each_third(tmp_path: Path) -> None:
    play(ExampleKeeper(tmp_path, score, total_steps=300), 24)
    kept = read_examples(tmp_path)
    assert [(e.phase, e.outcome.value) for e in kept] == [
        (phase, outcome) for phase in ("early", "middle", "late") for outcome in ("success", "failure")
    ]
    assert all(e.env_steps < 100 for e in kept if e.phase == "early")
    assert all(e.env_steps >= 200 for e in kept if e.phase == "late")


def test_an_example_holds_scores_and_pictures_up_to_the_end(tmp_path: Path) -> None:
    play(ExampleKeeper(tmp_path, score, total_steps=300), 2)
    failure = read_example(tmp_path / FOLDER / "early-failure.npz")
    assert (failure.task, failure.steps, failure.rate_hz, failure.episode) == ("lift", 20, 10.0, 1)
    assert failure.decision_step.tolist() == list(range(0, 20, 2))
    assert failure.logit.tolist() == [float(s) for s in range(0, 20, 2)]
    assert failure.frame_step[0] == 0
    assert failure.frame_step[-1] == failure.steps
    assert set(failure.frames) == {"front", "wrist"}
    assert failure.frames["front"].shape == (len(failure.frame_step), 32, 32, 3)


def test_a_resumed_run_keeps_what_an_uninterrupted_one_keeps(tmp_path: Path) -> None:
    whole, first = tmp_path / "whole", tmp_path / "parts"
    play(ExampleKeeper(whole, score, total_steps=10_000, seed=3), 20)
    keeper = ExampleKeeper(first, score, total_steps=10_000, seed=3)
    play(keeper, 8)
    resumed = ExampleKeeper(first, score, total_steps=10_000, seed=3, first_episode=8, first_step=keeper.env_steps)
    play(resumed, 12, first=8)
    assert [e.episode for e in read_examples(whole)] == [e.episode for e in read_examples(first)]


def test_which_episode_is_kept_is_drawn_not_just_the_first(tmp_path: Path) -> None:
    kept = set()
    for seed in range(8):
        play(ExampleKeeper(tmp_path / str(seed), score, total_steps=10_000, seed=seed), 12)
        kept.add(read_examples(tmp_path / str(seed))[0].episode)
    assert len(kept) > 2


def test_without_a_score_the_pictures_still_count(tmp_path: Path) -> None:
    play(ExampleKeeper(tmp_path, lambda step: None, total_steps=300), 1)
    (example,) = read_examples(tmp_path)
    assert not example.scored
    assert example.outcome is Outcome.SUCCESS


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    play(ExampleKeeper(tmp_path, score, total_steps=300), 1)
    path = tmp_path / FOLDER / "early-success.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match=r"early-success\.npz"):
        read_examples(tmp_path)


def test_nothing_half_written_stays(tmp_path: Path) -> None:
    play(ExampleKeeper(tmp_path, score, total_steps=300), 6)
    assert {path.suffix for path in (tmp_path / FOLDER).iterdir()} == {".npz"}


@pytest.mark.parametrize("offers", [1, 5, 12, 23, 24, 25, 100, 1000])
def test_a_strip_is_bounded_even_and_keeps_the_start(offers: int) -> None:
    strip = FilmStrip(12)
    for step in range(offers):
        strip.offer(step, {"front": np.zeros((4, 4, 3), np.uint8)})
        assert len(strip.moments) < 24
    steps = [step for step, _ in strip.chosen()]
    assert len(steps) == min(offers, len(strip.moments), 12)
    assert steps[0] == 0
    gaps = np.diff(steps)
    assert len(gaps) == 0 or gaps.max() <= 2 * gaps.min()
    assert steps[-1] >= offers - 1 - strip.stride


def test_shrinking_takes_the_mean_of_whole_blocks() -> None:
    image = np.zeros((4, 6, 3), np.uint8)
    image[:2, :2] = [[[10] * 3, [20] * 3], [[30] * 3, [40] * 3]]
    small = shrink(image, 2)
    assert small.shape == (2, 3, 3)
    assert small[0, 0].tolist() == [25, 25, 25]
    assert shrink(image, 4) is not image
