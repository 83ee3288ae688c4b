"""The discriminator: f(frames, state, action[, progress]) -> one logit, whose optimum is log w+/w-.

Two halves. ``inputs`` is everything before the head (features of the pictures, normalised joints, normalised action):
it is computed once per decision and kept. ``logits`` is the head: trained for ever, asked again for every batch.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from lerobot.rewards import PreTrainedRewardModel
from torch import Tensor, nn

from svm_robot.data.columns import ACTION, IMAGES, LATENT, STATE, SUCCESS
from svm_robot.errors import DataError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.forms import clip_beta
from svm_robot.reward.lerobot_dataset import describe, episode_labels
from svm_robot.rollout.env import FloatArray, ImageArray
from svm_robot.vision.encoder import PixelEncoder
from svm_robot.vision.prepare import letterbox, to_float


class SvmRewardModel(PreTrainedRewardModel):
    """LeRobot reward model ``svm``. Joints in the robot's own units; the normaliser lives inside the checkpoint."""

    name = "svm"
    config_class = SvmConfig
    config: SvmConfig
    state_mean: Tensor
    state_std: Tensor
    action_mean: Tensor
    action_std: Tensor

    def __init__(
        self,
        config: SvmConfig,
        dataset_stats: Mapping[str, Mapping[str, Any]] | None = None,
        dataset_meta: Any | None = None,
        encoder: PixelEncoder | None = None,
        **_: Any,
    ) -> None:
        """LeRobot's trainer gives ``dataset_stats`` and ``dataset_meta``; ``encoder`` is a policy's, to be shared."""
        if dataset_meta is not None:
            describe(config, dataset_meta)
        super().__init__(config)
        sizes = {role: (size[0], size[1]) for role, size in config.cameras.items()}
        self.encoder = encoder or (PixelEncoder(sizes, config.feature_dim, config.side) if sizes else None)
        joints, hidden = len(config.joints), config.hidden
        self.register_buffer("state_mean", torch.zeros(joints))
        self.register_buffer("state_std", torch.ones(joints))
        self.register_buffer("action_mean", torch.zeros(config.action_dim))
        self.register_buffer("action_std", torch.ones(config.action_dim))
        self.head = nn.Sequential(
            *(nn.Linear(config.input_dim, hidden), nn.ReLU()),
            *(nn.Linear(hidden, hidden), nn.ReLU()),
            nn.Linear(hidden, 1),
        )
        self.labels = {} if dataset_meta is None else episode_labels(config, dataset_meta)
        if dataset_stats is not None and joints:
            self._normalise_by(dataset_stats)

    # -- the method's API ------------------------------------------------------------------------------------------

    @torch.no_grad()
    def inputs(
        self,
        frames: Mapping[str, ImageArray],
        state: FloatArray,
        action: FloatArray | None = None,
        progress: FloatArray | None = None,
        *,
        features: FloatArray | None = None,
    ) -> Tensor:
        """Everything before the head, for T moments: (T, m) float32 on the CPU, without gradient.

        frames: role -> (T, H, W, 3) uint8. state: (T, J). progress: (T,) h / H, only with ``config.progress``.
        action: by ``config.action`` None, (T, J) targets, (T, c, J) targets of the chunk, or (T, d) noise.
        features: (T, F) when a policy with the same encoder (``config.encoder_fingerprint``) has computed them already.
        Raises ``DataError`` for anything missing, of wrong shape or not finite.
        """
        if features is None:
            features = np.empty((len(state), 0), np.float32) if self.encoder is None else self.encoder.encode(frames)
        numbers = self.numbers(state, action, progress)
        joined = torch.cat([as_tensor(features).to(numbers), numbers], dim=1).cpu()
        if joined.shape[1] != self.config.input_dim:
            raise DataError(f"the reward reads {self.config.input_dim} numbers a moment, got {joined.shape[1]}")
        if not torch.isfinite(joined).all():
            row = int((~torch.isfinite(joined)).any(dim=1).nonzero()[0])
            raise DataError(f"moment {row} holds a number that is not finite; it cannot be scored")
        return joined

    def numbers(self, state: Any, action: Any = None, progress: Any = None) -> Tensor:
        """(T, m - F) the part of ``inputs`` beside the pictures: normalised joints, action, progress."""
        config, state = self.config, as_tensor(state)
        if state.ndim != 2 or state.shape[1] != len(config.joints):
            want = f"(T, {len(config.joints)}) for {', '.join(config.joints)}"
            raise DataError(f"state must be {want}, got {tuple(state.shape)}")
        parts = [(state.to(self.state_mean) - self.state_mean) / self.state_std]
        if config.action != "none":
            if action is None:
                raise DataError(f"this reward reads the action ({config.action}); none was given")
            relative = self._relative(state, as_tensor(action)).to(self.action_mean)
            parts.append((relative - self.action_mean) / self.action_std)
        if config.progress:
            if progress is None:
                raise DataError("this reward reads the clock (progress); none was given")
            parts.append(as_tensor(progress).to(self.state_mean).reshape(-1, 1))
        return torch.cat(parts, dim=1)

    def logits(self, inputs: Tensor) -> Tensor:
        """(B, m) to (B,): the raw logit log w+/w- [nats]."""
        return self.head(inputs).squeeze(-1)  # type: ignore[no-any-return]

    def probability(self, inputs: Tensor) -> Tensor:
        """(B, m) to (B,): calibrated P(success), as if successes and failures were equally frequent."""
        return torch.sigmoid(self.logits(inputs) / self.config.temperature)

    def set_normaliser(self, state: FloatArray, action: FloatArray | None) -> None:
        """Mean and spread of state (N, J) and action (as in ``inputs``) become 0 and 1. Noise already is."""
        self._set("state", *mean_std(as_tensor(state)))
        if action is not None and self.config.action in ("step", "chunk"):
            self._set("action", *mean_std(self._relative(as_tensor(state), as_tensor(action))))

    # -- LeRobot's API ---------------------------------------------------------------------------------------------

    def compute_reward(self, batch: dict[str, Tensor]) -> Tensor:
        """(B,) clipped logit of a LeRobot batch: what lambda multiplies in equation (1)."""
        with torch.no_grad():
            return clip_beta(self.logits(self._batch_inputs(batch)), self.config.beta)

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
        """Cross entropy against the outcome of each frame's whole episode, both outcomes weighing the same.

        A model made for a dataset (LeRobot's trainer) reads the outcomes from the dataset's label log; without a log an
        episode is a success when ``next.success`` is true on any of its frames. Unsure, aborted and unlabelled episodes
        weigh nothing. A model made without a dataset takes ``batch["next.success"]`` as the outcome, on every frame.
        """
        label, weight = self._batch_labels(batch)
        logit = self.logits(self._batch_inputs(batch))
        loss = F.binary_cross_entropy_with_logits(logit, label, weight)
        return loss, {"accuracy": float(((logit > 0) == (label > 0.5)).float().mean())}

    def get_optim_params(self) -> list[nn.Parameter]:
        """What may be trained: the head, and the encoder unless it is frozen."""
        encoder = [] if self.encoder is None or self.config.freeze_encoder else list(self.encoder.parameters())
        return list(self.head.parameters()) + encoder

    def reset(self) -> None:
        """Nothing is remembered between moments."""

    # -- inside ----------------------------------------------------------------------------------------------------

    def _relative(self, state: Tensor, action: Tensor) -> Tensor:
        """(T, A): targets become differences to the measured joints; noise stays as it is."""
        count, kind = len(state), self.config.action
        if kind != "noise" and action.numel() == count * self.config.action_dim:
            action = (action.reshape(count, -1, state.shape[1]) - state[:, None]).reshape(count, -1)
        if action.shape != (count, self.config.action_dim):
            raise DataError(f"action ({kind}) must be ({count}, {self.config.action_dim}), got {tuple(action.shape)}")
        return action

    def _batch_inputs(self, batch: dict[str, Tensor]) -> Tensor:
        """(B, m) of a LeRobot batch, with gradient into an encoder that is trained."""
        action = batch.get(LATENT if self.config.action == "noise" else ACTION)
        state = batch[STATE].float()
        progress = batch["frame_index"].float() / self.config.horizon_steps if self.config.progress else None
        numbers = self.numbers(state, action, progress)
        if self.encoder is None:
            return numbers
        images = {}
        for role, box in self.encoder.boxes.items():
            pictures = batch[IMAGES + role] if IMAGES + role in batch else batch[f"observation.{role}"]
            pixels = (pictures * 255).round().to(torch.uint8).permute(0, 2, 3, 1)
            images[role] = to_float(letterbox(pixels, box))
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.config.freeze_encoder):
            features = self.encoder(images)
        return torch.cat([features, numbers], dim=1)

    def _batch_labels(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """(B,) outcomes and (B,) weights that give successes and failures of the batch half each."""
        if self.labels:
            found = [self.labels.get(int(episode)) for episode in batch["episode_index"].flatten()]
            known = torch.tensor([label is not None for label in found])
            label = torch.tensor([float(bool(label)) for label in found])
        elif SUCCESS in batch:
            label = batch[SUCCESS].float().flatten().cpu()
            known = torch.ones_like(label, dtype=torch.bool)
        else:
            raise DataError(f"no labels: the batch has no column {SUCCESS}; label the dataset first")
        weight = torch.zeros_like(label)
        for value in (0.0, 1.0):
            rows = known & (label == value)
            weight[rows] = 0.5 * len(label) / max(1, int(rows.sum()))
        device = self.state_mean.device
        return label.to(device), weight.to(device)

    def _normalise_by(self, stats: Mapping[str, Mapping[str, Any]]) -> None:
        """LeRobot's trainer has statistics of the columns, not of the differences that f reads: their spread is that of
        the state, an upper bound that keeps the scale within reason."""
        mean, std = as_tensor(stats[STATE]["mean"]), as_tensor(stats[STATE]["std"])
        std = torch.where(std > 1e-6, std, torch.ones_like(std))
        self._set("state", mean, std)
        if self.config.action in ("step", "chunk"):
            self._set("action", torch.zeros_like(self.action_mean), std.repeat(self.config.action_dim // len(std)))

    def _set(self, name: str, mean: Tensor, std: Tensor) -> None:
        getattr(self, f"{name}_mean").copy_(mean)
        getattr(self, f"{name}_std").copy_(std)


def as_tensor(values: Any) -> Tensor:
    """Numbers of any kind as a float32 tensor (no copy where none is needed)."""
    return torch.as_tensor(np.asarray(values, np.float32) if not isinstance(values, Tensor) else values).float()


def mean_std(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation over the rows; a constant column gets 1, so that it becomes 0 and never NaN."""
    std = values.std(dim=0, correction=0)
    return values.mean(dim=0), torch.where(std > 1e-6, std, torch.ones_like(std))
