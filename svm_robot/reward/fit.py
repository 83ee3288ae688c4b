"""Fit the discriminator: split by episode, train, calibrate, and judge it beside the shortcuts it must beat."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from svm_robot.data.episodes import EpisodeData
from svm_robot.errors import CheckpointError, ConfigError, DataError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.pixels import train_pixels
from svm_robot.reward.quality import Array, Quality, fit_temperature, measure
from svm_robot.reward.samples import Episodes, Samples, action_rows, collect, contradictory_twins, learning_rows
from svm_robot.reward.split import check_classes, labelled, split_episodes
from svm_robot.reward.trainer import DiscriminatorTrainer
from svm_robot.rollout.fits import other_cameras
from svm_robot.vision.encoder import PixelEncoder, fingerprint

CHUNK = 4
"""Rows that belong together in a dataset that knows no chunks."""


@dataclass(frozen=True)
class FitOptions:
    """How to fit."""

    steps: int = 500
    """Gradient steps, half of each batch successes, half failures."""
    holdout: float = 0.25
    """Share of the episodes of each outcome that only judges."""
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ConfigError(f"steps must be 1 or more, got {self.steps}")
        if self.seed < 0:
            raise ConfigError(f"seed must be 0 or more, got {self.seed}")
        if not 0 < self.holdout < 1:
            raise ConfigError(f"the held-out share must lie between 0 and 1, got {self.holdout}")


def new_config(dataset: Episodes, action: str, name: str = "", device: str = "cpu", **more: Any) -> SvmConfig:
    """The configuration of a reward for this dataset. ``DataError`` when noise is asked for and there is none."""
    latent = next((e.latent for e in dataset.episodes if e.latent is not None), None)
    if action == "noise" and latent is None:
        raise DataError("no episode has noise (svm.latent); choose --action=chunk, step or none")
    return SvmConfig(
        joints=list(dataset.joints),
        cameras={role: list(size) for role, size in dataset.cameras.items()},
        action=action,
        latent_dim=latent.shape[1] if action == "noise" and latent is not None else 0,
        chunk=chunk_of(dataset.episodes),
        horizon_steps=max((len(episode) for episode in dataset.episodes), default=0),
        robot_type=dataset.robot_type,
        rate_hz=dataset.rate_hz,
        dataset=name,
        dataset_id=dataset.fingerprint,
        label_hash=dataset.label_hash,
        device=device,
        **more,
    )


def fit_reward(
    dataset: Episodes,
    config: SvmConfig,
    options: FitOptions = FitOptions(),
    encoder: PixelEncoder | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[SvmRewardModel, Quality]:
    """Train on some episodes, judge on those held out. The model returned is the one that was judged.

    ``encoder``: a policy's, kept frozen; without it an encoder is trained from the pictures. ``progress`` hears every
    pixel step. Raises ``DataError`` for one outcome only, too few episodes, or cameras that do not fit.
    """
    check_classes(dataset.episodes)
    if encoder is not None:
        config = shared(config, encoder)
    usable = [episode for episode in labelled(dataset.episodes) if len(learning_rows(episode, config))]
    check_classes(usable)  # an episode shorter than a chunk has nothing to learn from
    train, judge = split_episodes(usable, options.holdout, options.seed)
    torch.manual_seed(options.seed)
    model = SvmRewardModel(replace(config, freeze_encoder=encoder is not None), encoder=deepcopy(encoder)).to(
        options.device
    )
    _normalise(model, train)
    if model.encoder is not None and not model.config.freeze_encoder:
        train_pixels(model, train, options.steps, seed=options.seed, progress=progress)
        samples = collect(model, train)
    else:
        samples = collect(model, train)
        _train(model, samples, options)
    held = collect(model, judge)
    quality = _judge(model, samples, held, options, contradictory_twins(usable))
    model.config.temperature = quality.temperature
    model.config.metrics = quality.as_metrics()
    model.config.encoder_fingerprint = "" if model.encoder is None else fingerprint(model.encoder)
    model.config.freeze_encoder = True  # from here on only the head is trained: inputs already computed stay true
    return model.eval(), quality


def shared(config: SvmConfig, encoder: PixelEncoder) -> SvmConfig:
    """The configuration of a reward that keeps a policy's encoder. ``CheckpointError`` when its cameras are others."""
    seen = {role: list(box.source) for role, box in encoder.boxes.items()}
    found = other_cameras(seen, config.cameras)
    if found:
        raise CheckpointError(f"the policy's encoder does not fit the dataset, which has {'; '.join(found)}")
    return replace(config, cameras=seen, feature_dim=encoder.dim, side=encoder.side, freeze_encoder=True)


def chunk_of(episodes: Sequence[EpisodeData]) -> int:
    """Control steps per decision, as most decisions of these episodes have it; 4 where every step is a decision."""
    gaps = [np.diff(np.flatnonzero(episode.decision)) for episode in episodes]
    counts = np.bincount(np.concatenate(gaps)) if gaps else np.zeros(0)
    usual = int(counts.argmax()) if len(counts) else 1
    return usual if usual > 1 else CHUNK


def _normalise(model: SvmRewardModel, episodes: list[EpisodeData]) -> None:
    rows = [learning_rows(episode, model.config) for episode in episodes]
    state = np.concatenate([e.state[r] for e, r in zip(episodes, rows, strict=True)])
    actions = [action_rows(e, r, model.config) for e, r in zip(episodes, rows, strict=True)]
    present = [action for action in actions if action is not None]
    model.set_normaliser(state, np.concatenate(present) if present else None)


def _train(model: SvmRewardModel, samples: Samples, options: FitOptions) -> None:
    trainer = DiscriminatorTrainer(model, seed=options.seed)
    trainer.update(samples.of(success=True), samples.of(success=False), options.steps)


def _judge(
    model: SvmRewardModel, train: Samples, held: Samples, options: FitOptions, twins: list[tuple[int, int]]
) -> Quality:
    logit = _logits(model, held.inputs)
    temperature = fit_temperature(logit, held.success)
    config = model.config
    blind = replace(config, cameras={}, progress=False)
    clock = replace(config, cameras={}, joints=[], action="none", progress=True)
    pictures = len(config.cameras) * config.feature_dim
    no_pictures = _control(blind, train, held, options, lambda s: s.inputs[:, pictures : pictures + blind.input_dim])
    by_clock = _control(clock, train, held, options, lambda s: torch.from_numpy(s.progress)[:, None])
    counts = {
        "train_success": len(np.unique(train.episode[train.success > 0])),
        "train_failure": len(np.unique(train.episode[train.success == 0])),
    }
    return measure(held, logit, no_pictures, by_clock, temperature, counts, twins, options.seed)


def _control(
    config: SvmConfig, train: Samples, held: Samples, options: FitOptions, view: Callable[[Samples], Tensor]
) -> Array:
    """Held-out logits of the same head, trained the same way on less: what a shortcut alone would reach."""
    torch.manual_seed(options.seed)
    model = SvmRewardModel(config).to(options.device)
    _train(model, replace(train, inputs=view(train)), options)
    return _logits(model, view(held))


def _logits(model: SvmRewardModel, inputs: Tensor) -> Array:
    with torch.no_grad():
        return model.logits(inputs.to(model.state_mean.device)).cpu().double().numpy()
