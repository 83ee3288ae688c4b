"""A small flow policy on pictures and joints: noise in, a chunk of absolute joint targets out.

LeRobot sees an ordinary policy (``forward``, ``predict_action_chunk``, ``select_action``); the method uses the names
below them (``encode``, ``vectors``, ``generate``, ``nll_nats``).
"""

from collections import deque
from collections.abc import Mapping
from math import log, pi
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lerobot.policies.pretrained import PreTrainedPolicy
from torch import Tensor, nn

from svm_robot.data.columns import ACTION, IMAGES, STATE
from svm_robot.errors import DataError
from svm_robot.policies.chunks import Statistics
from svm_robot.policies.configuration_svm_flow import SvmFlowConfig
from svm_robot.policies.flow import Field, VelocityField, integrate, matching_loss, negative_log_likelihood
from svm_robot.policies.lerobot_data import complete_config, statistics_of
from svm_robot.rollout.env import FloatArray, ImageArray
from svm_robot.vision.encoder import PixelEncoder, fingerprint
from svm_robot.vision.prepare import jitter, letterbox, to_float


class SvmFlowPolicy(PreTrainedPolicy):
    """Flow matching on action chunks, with its encoder and its normaliser inside.

    Shapes: B batch, T frames, J joints, c chunk, d = c*J noise, F features. Joints and targets are in robot units.
    """

    config_class = SvmFlowConfig
    name = "svm_flow"

    def __init__(self, config: SvmFlowConfig, dataset_stats: Any = None, dataset_meta: Any = None) -> None:
        """``dataset_meta``: given by LeRobot's trainer; the normaliser is then computed from that dataset's columns."""
        complete_config(config, dataset_meta)
        super().__init__(config)
        self.config: SvmFlowConfig = config
        cameras = {role: (size[0], size[1]) for role, size in config.cameras.items()}
        self.encoder = PixelEncoder(cameras, config.camera_features, config.picture_side)
        condition = self.encoder.features + len(config.joints)
        self.field = VelocityField(condition, config.latent_dim, config.hidden, config.layers)
        self.state_scale = Scale((len(config.joints),))
        self.delta_scale = Scale(config.latent_shape)
        self._queue: deque[Tensor] = deque()
        if dataset_meta is not None and config.pretrained_path is None:
            self.set_statistics(statistics_of(config, dataset_meta))

    # ---- the method's names

    def set_statistics(self, statistics: Statistics) -> None:
        """Fill the normaliser from training data."""
        self.state_scale.set(statistics.state_mean, statistics.state_std)
        self.delta_scale.set(statistics.delta_mean, statistics.delta_std)

    @property
    def features(self) -> int:
        """F."""
        return self.encoder.features

    @property
    def vector_size(self) -> int:
        """n = F + J + 1: what RL sees."""
        return self.features + len(self.config.joints) + 1

    def encode(self, frames: Mapping[str, ImageArray]) -> FloatArray:
        """Role -> (T, H, W, 3) uint8 as recorded to (T, F) float32; raises ``DataError`` for other cameras."""
        return self.encoder.encode(frames)

    @torch.no_grad()
    def vectors(self, frames: Mapping[str, ImageArray], state: FloatArray, progress: FloatArray) -> FloatArray:
        """(T, n) float32: [features, normalised joints (T, J), share of the episode's time used (T,)]."""
        joints = self.state_scale.normalise(self._tensor(state)).cpu().numpy()
        return np.concatenate([self.encode(frames), joints, progress[:, None]], axis=1, dtype=np.float32)

    @torch.no_grad()
    def generate(self, features: Tensor, state: Tensor, latent: Tensor) -> Tensor:
        """features (B, F), joints (B, J), noise (B, d) or (B, c, J) to absolute targets (B, c, J). Deterministic."""
        noise = latent.reshape(len(features), self.config.latent_dim)
        x = integrate(self._field(features, state), noise, self.config.solver_steps)
        return state[:, None] + self.delta_scale.denormalise(x.reshape(-1, *self.config.latent_shape))

    @torch.no_grad()
    def nll_nats(self, features: Tensor, state: Tensor, chunk: Tensor, solver_steps: int = 16) -> Tensor:
        """-log p(chunk | features, joints) [nats per chunk], (B,), of chunks (B, c, J) in normalised units.

        Integrates the flow's ODE with RK4 (see ``flow.negative_log_likelihood``), not with the Euler steps used to
        act. Numbers that never change in the training data have no density: any value below is then a lower bound
        that has no floor, so compare only models of the same normaliser.
        """
        data = self.delta_scale.normalise(chunk - state[:, None]).flatten(1)
        return negative_log_likelihood(self._field(features, state), data, solver_steps)

    def nll_nats_normal(self, state: Tensor, chunk: Tensor) -> Tensor:
        """The same chunks under N(0, I) in normalised units [nats per chunk], (B,): what ``nll_nats`` has to beat."""
        data = self.delta_scale.normalise(chunk - state[:, None]).flatten(1)
        return 0.5 * data.square().sum(dim=1) + 0.5 * data.shape[1] * log(2 * pi)

    def losses(
        self, images: Mapping[str, Tensor], state: Tensor, chunk: Tensor, padded: Tensor, generator: Any = None
    ) -> Tensor:
        """Flow matching loss of each picture, (B,).

        ``images`` role -> (B, h, w, 3) uint8 of the model's size, joints (B, J), targets (B, c, J), padded (B, c).
        In training mode the pictures are jittered. Every picture is encoded once and used for several noise draws.
        """
        pictures = {role: to_float(image) for role, image in images.items()}
        if self.training:
            pictures = {role: jitter(image, self.config.jitter, generator) for role, image in pictures.items()}
        features = self.encoder(pictures)
        data = self.delta_scale.normalise(chunk - state[:, None]).flatten(1)
        weight = (~padded)[..., None].expand(chunk.shape).flatten(1).float()
        draws = self.config.noise_draws
        features, state, data, weight = (t.repeat(draws, 1) for t in (features, state, data, weight))
        loss = matching_loss(self._field(features, state), data, weight, generator)
        return loss.reshape(draws, -1).mean(dim=0)

    def _field(self, features: Tensor, state: Tensor) -> Field:
        condition = torch.cat([features, self.state_scale.normalise(state)], dim=1)
        return lambda x, t: self.field(condition, x, t)

    def _tensor(self, values: FloatArray) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=self.state_scale.mean.device)

    # ---- LeRobot's names

    def get_optim_params(self) -> Any:
        """All parameters in one group."""
        return self.parameters()

    def reset(self) -> None:
        """Forget the rest of the chunk in hand."""
        self._queue.clear()

    def forward(self, batch: dict[str, Tensor], reduction: str = "mean") -> tuple[Tensor, dict[str, float]]:
        """Training loss of a LeRobot batch: pictures (B, 3, H, W) in 0..1, joints (B, J), actions (B, c, J)."""
        action = batch[ACTION]
        if action.ndim != 3 or action.shape[1] != self.config.chunk_size:
            want = f"(B, {self.config.chunk_size}, {len(self.config.joints)})"
            raise DataError(f"svm_flow trains on chunks: expected action {want}, got {tuple(action.shape)}")
        padded = batch.get(f"{ACTION}_is_pad")
        if padded is None:
            padded = torch.zeros(action.shape[:2], dtype=torch.bool, device=action.device)
        loss = self.losses(self._images(batch), batch[STATE], action, padded)
        mean = loss.mean()
        return (loss if reduction == "none" else mean), {"flow_loss": mean.item()}

    @torch.no_grad()
    def predict_action_chunk(self, batch: dict[str, Tensor], noise: Tensor | None = None, **_: Any) -> Tensor:
        """(B, c, J) absolute targets; ``noise`` (B, d) or (B, c, J), drawn from N(0, I) when not given."""
        state = batch[STATE]
        features = self.encoder.features_of(self._images(batch))
        if noise is None:
            noise = torch.randn((len(state), self.config.latent_dim), device=state.device)
        return self.generate(features, state, noise)

    @torch.no_grad()
    def select_action(self, batch: dict[str, Tensor], noise: Tensor | None = None, **_: Any) -> Tensor:
        """(B, J) the next target of the chunk in hand; a new chunk when it is used up."""
        if not self._queue:
            self._queue.extend(self.predict_action_chunk(batch, noise).unbind(dim=1))
        return self._queue.popleft()

    def _images(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """LeRobot's float pictures back to the bytes they were decoded from, in the model's size."""
        images = {}
        for role, box in self.encoder.boxes.items():
            if IMAGES + role not in batch:
                raise DataError(f"the batch has no {IMAGES}{role}; the policy sees {', '.join(self.encoder.boxes)}")
            pixels = (batch[IMAGES + role] * 255).round_().to(torch.uint8).permute(0, 2, 3, 1)
            images[role] = letterbox(pixels, box)
        return images

    def _save_pretrained(self, save_directory: Path, state_dict: dict[str, Tensor] | None = None) -> None:
        self.config.encoder_fingerprint = fingerprint(self.encoder)
        super()._save_pretrained(save_directory, state_dict=state_dict)


class Scale(nn.Module):
    """Mean and standard deviation as buffers, so they travel inside the weights. A constant number normalises to 0."""

    mean: Tensor
    std: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("std", torch.ones(shape))

    def set(self, mean: FloatArray, std: FloatArray) -> None:
        """Take over statistics; ``std`` 0 marks a constant."""
        self.mean.copy_(torch.from_numpy(mean))
        self.std.copy_(torch.from_numpy(std))

    def normalise(self, values: Tensor) -> Tensor:
        """(values - mean) / std; 0 where std is 0, whatever the value."""
        inverse = torch.where(self.std > 0, 1 / self.std, torch.zeros_like(self.std))
        return (values - self.mean) * inverse

    def denormalise(self, values: Tensor) -> Tensor:
        """values * std + mean; the constant itself where std is 0."""
        return values * self.std + self.mean
