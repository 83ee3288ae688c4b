"""Fitting: planted signals are found, absent ones are not, shortcuts are named."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from reward_episodes import SIZE, dataset, episode

from svm_robot.errors import CheckpointError, ConfigError, DataError
from svm_robot.reward.fit import FitOptions, fit_reward, new_config
from svm_robot.reward.metrics import Interval
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.pixels import random_shift, train_pixels
from svm_robot.reward.quality import Quality, cross_fitted, fit_temperature
from svm_robot.rollout.episode import Outcome
from svm_robot.vision.encoder import PixelEncoder, fingerprint

OPTIONS = FitOptions(steps=150)


def encoder(**cameras: tuple[int, int]) -> PixelEncoder:
    torch.manual_seed(1)
    return PixelEncoder(cameras or {"wrist": (SIZE, SIZE), "front": (SIZE, SIZE)})


def test_a_signal_in_the_pictures_is_found_by_training_the_encoder() -> None:
    data = dataset(8, 8, signal="picture")
    heard: list[int] = []
    model, quality = fit_reward(
        data, new_config(data, "none", device="cpu"), FitOptions(steps=60), progress=heard.append
    )
    assert quality.figures["auc_decision"].low > 0.9
    assert quality.figures["auc_first"].low > 0.9
    assert quality.figures["auc_no_pictures"].value < 0.8
    assert quality.logit_success > 0 > quality.logit_failure
    assert quality.beats_clock
    assert quality.warnings() == []
    assert heard == list(range(60))
    assert model.config.freeze_encoder
    assert model.config.encoder_fingerprint == fingerprint(model.encoder)  # type: ignore[arg-type]


def test_a_signal_in_the_noise_is_found_on_a_shared_frozen_encoder() -> None:
    data, shared = dataset(10, 20, signal="noise"), encoder()
    model, quality = fit_reward(data, new_config(data, "noise", device="cpu"), OPTIONS, shared)
    assert quality.figures["auc_decision"].low > 0.9
    assert model.config.encoder_fingerprint == fingerprint(shared)
    assert list(model.config.cameras) == ["wrist", "front"]  # the policy's order, which the features follow
    assert quality.episodes == {"train_success": 8, "train_failure": 15, "held_success": 2, "held_failure": 5}
    assert model.config.metrics["auc_decision"] == quality.figures["auc_decision"].as_list()


def test_without_a_signal_the_interval_holds_one_half_and_it_is_said() -> None:
    data = dataset(16, 16, signal="none")
    _, quality = fit_reward(data, new_config(data, "step", device="cpu"), OPTIONS, encoder())
    figure = quality.figures["auc_decision"]
    assert figure.low < 0.5 < figure.high
    assert any("chance" in warning for warning in quality.warnings())


def test_a_reward_that_loses_to_the_clock_says_so_loudly() -> None:
    data = dataset(10, 10, signal="clock")
    _, quality = fit_reward(data, new_config(data, "none", device="cpu"), OPTIONS, encoder())
    assert quality.figures["auc_clock"].value > 0.7
    assert not quality.beats_clock
    assert any("DOES NOT BEAT THE CLOCK" in warning for warning in quality.warnings())


def test_same_seed_same_weights() -> None:
    data = dataset(5, 5, steps=8)
    fits = [fit_reward(data, new_config(data, "step", device="cpu"), FitOptions(steps=5, seed=3))[0] for _ in range(2)]
    assert fingerprint(fits[0]) == fingerprint(fits[1])


def test_twins_are_reported() -> None:
    data = dataset(6, 6, signal="noise", steps=8)
    good = next(e for e in data.episodes if e.outcome is Outcome.SUCCESS)
    data.episodes.append(replace(good, index=77, outcome=Outcome.FAILURE))
    _, quality = fit_reward(data, new_config(data, "noise", device="cpu"), FitOptions(steps=5), encoder())
    assert quality.twins == [(good.index, 77)]
    assert any("77 (failure) are the same recording" in warning for warning in quality.warnings())


@pytest.mark.parametrize(("successes", "failures"), [(10, 0), (0, 10), (9, 1)])
def test_one_outcome_is_refused_before_anything_is_trained(successes: int, failures: int) -> None:
    data = dataset(successes, failures, steps=4)
    with pytest.raises(DataError, match="record"):
        fit_reward(data, new_config(data, "none", device="cpu"), OPTIONS)


def test_the_policy_must_see_the_same_cameras() -> None:
    data = dataset(4, 4, steps=4)
    config = new_config(data, "none", device="cpu")
    with pytest.raises(CheckpointError, match="unknown camera wrist"):
        fit_reward(data, config, OPTIONS, encoder(front=(SIZE, SIZE)))
    with pytest.raises(CheckpointError, match="camera front gives 32x32 instead of 48x64"):
        fit_reward(data, config, OPTIONS, encoder(front=(48, 64), wrist=(SIZE, SIZE)))


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"holdout": 0.0}, {"holdout": 1.0}, {"seed": -1}])
def test_senseless_options_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        FitOptions(**wrong)  # type: ignore[arg-type]


def test_temperature_cools_what_is_overconfident_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    true_logit = rng.normal(0, 1.5, 20_000)
    success = (rng.random(20_000) < 1 / (1 + np.exp(-true_logit))).astype(float)
    assert fit_temperature(6 * true_logit, success) == pytest.approx(6, rel=0.1)
    assert fit_temperature(0.3 * true_logit, success) == pytest.approx(1.0)


def test_calibration_halves_the_error_of_an_overconfident_logit() -> None:
    rng = np.random.default_rng(0)
    true_logit = rng.normal(0, 1.5, 4000)
    success = (rng.random(4000) < 1 / (1 + np.exp(-true_logit))).astype(float)
    from svm_robot.reward.metrics import balanced_weights, calibration_error

    def error(temperature: float) -> float:
        probability = 1 / (1 + np.exp(-6 * true_logit / temperature))
        return calibration_error(probability, success, balanced_weights(success))

    assert error(fit_temperature(6 * true_logit, success)) < 0.5 * error(1.0)


def test_a_held_out_episode_has_no_say_in_its_own_temperature() -> None:
    rng = np.random.default_rng(0)
    episode = np.repeat(np.arange(10), 20)
    success = (episode % 2).astype(float)
    logit = 6 * rng.normal(2 * success - 1, 2)
    before = cross_fitted(logit, success, episode)
    changed = np.where(episode == 3, -logit, logit)
    after = cross_fitted(changed, success, episode)
    assert np.array_equal(before[episode == 3], after[episode == 3])
    assert not np.array_equal(before, after)
    assert 1 < before.min() <= fit_temperature(logit, success) <= before.max()


def test_episodes_shorter_than_a_chunk_are_no_examples() -> None:
    data = dataset(4, 6, steps=8)
    short = [episode(20 + number, Outcome.SUCCESS, steps=3) for number in range(3)]
    data.episodes.extend(short)
    config = new_config(data, "chunk", device="cpu")
    _, quality = fit_reward(data, config, FitOptions(steps=2))
    assert quality.episodes["train_success"] + quality.episodes["held_success"] == 4
    data.episodes[:] = [e for e in data.episodes if e.outcome is Outcome.FAILURE] + short
    data.episodes.append(replace(short[0], index=30))
    with pytest.raises(DataError, match="record 4 more successes"):
        fit_reward(data, config, FitOptions(steps=2))


def test_the_table_shows_every_figure_with_its_interval() -> None:
    figure = Interval(0.9, 0.8, 0.95)
    counts = {"train_success": 8, "train_failure": 9, "held_success": 2, "held_failure": 3}
    over = {"auc_decision": figure, "auc_clock": figure, "over_clock": figure}
    table = Quality(over, 3.0, -4.0, 1.5, counts, 44, []).table()
    assert "AUC of the clock alone" in table
    assert table.count("0.900 [0.800, 0.950]") == 3
    assert "2 successes, 3 failures" in table
    assert "1.50, from all held-out episodes" in table


def test_random_shift_moves_pictures_and_keeps_their_colours() -> None:
    images = torch.arange(2 * 3 * 8 * 8, dtype=torch.float32).reshape(2, 3, 8, 8)
    moved = random_shift(images, torch.Generator().manual_seed(0), pad=2)
    assert moved.shape == images.shape
    assert not torch.equal(moved, images)
    assert set(moved.flatten().tolist()) <= set(images.flatten().tolist())
    assert torch.equal(random_shift(images, torch.Generator(), pad=0), images)


def test_a_loss_that_is_not_finite_is_an_error() -> None:
    data = dataset(2, 2, steps=4)
    model = SvmRewardModel(new_config(data, "none", device="cpu"))
    torch.nn.init.constant_(model.head[-1].bias, float("nan"))
    with pytest.raises(DataError, match="stopped being finite"):
        train_pixels(model, data.episodes, steps=1, batch=4)


def test_an_episode_without_pictures_is_named() -> None:
    data = dataset(4, 4, steps=4)
    data.episodes.append(replace(episode(9, Outcome.SUCCESS, steps=4), frames={}))
    with pytest.raises(DataError, match="cameras do not fit the model"):
        fit_reward(data, new_config(data, "none", device="cpu"), FitOptions(steps=2))
