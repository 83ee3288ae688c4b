"""Behaviour cloning: recorded chunks into the flow policy, and how well it explains episodes it has not seen."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch import Tensor

from svm_robot.data import Dataset, EpisodeData
from svm_robot.errors import ConfigError, DataError
from svm_robot.policies.chunks import Statistics, statistics, windows
from svm_robot.policies.configuration_svm_flow import SvmFlowConfig
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.rollout import Outcome
from svm_robot.vision.encoder import fingerprint
from svm_robot.vision.prepare import prepare

Watch = Callable[[int, float], None]
"""Told (steps done, loss) after every step."""


@dataclass(frozen=True)
class PretrainConfig:
    """How to clone."""

    steps: int = 1500
    """Gradient steps."""
    batch: int = 64
    """Pictures per step."""
    lr: float = 1e-3
    """Peak of the one-cycle learning rate (AdamW)."""
    weight_decay: float = 1e-4
    held_out: float = 0.1
    """Share of the episodes that are not trained on."""
    on: str = "all"
    """Which episodes: ``all`` (failures too; a flow keeps both ways and finetuning chooses) or ``success``."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.on not in ("all", "success"):
            raise ConfigError(f"on must be 'all' or 'success', got '{self.on}'")
        if self.seed < 0:
            raise ConfigError(f"seed must be 0 or more, got {self.seed}")
        if self.steps < 2 or self.batch < 1 or not 0 < self.held_out < 1:
            raise ConfigError(
                f"steps must be >= 2, batch >= 1 and held_out between 0 and 1, "
                f"got {self.steps}, {self.batch}, {self.held_out}"
            )


@dataclass(frozen=True)
class PretrainReport:
    """What came out. Losses are mean square velocity errors; the likelihood is of normalised chunks."""

    steps: int
    seconds: float
    ms_per_step: float
    train_episodes: int
    held_out_episodes: int
    frames: int
    train_loss: float
    """Mean over the last twentieth of the steps."""
    held_out_loss: float
    nll_nats: float
    """Held-out negative log-likelihood [nats per chunk]; N(0, I) would have ``nll_nats_normal``."""
    nll_nats_per_dim: float
    nll_nats_normal: float
    """The same chunks under a plain normal distribution: what the pictures and joints are worth is the difference."""
    constant: tuple[str, ...]
    """Numbers that never change in the training data; they are reproduced, not learned."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "constant": list(self.constant)}


@dataclass(frozen=True)
class Table:
    """Every frame of some episodes as a chunk start, on the training device. N rows."""

    images: dict[str, Tensor]
    """Role -> (N, h, w, 3) uint8 of the model's size."""
    state: Tensor
    chunk: Tensor
    """(N, c, J) absolute targets."""
    padded: Tensor
    """(N, c) True past the end of the episode."""

    def __len__(self) -> int:
        return len(self.state)

    def rows(self, index: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
        """The arguments of ``SvmFlowPolicy.losses`` for these rows."""
        images = {role: image[index] for role, image in self.images.items()}
        return images, self.state[index], self.chunk[index], self.padded[index]


def pretrain(
    dataset: Dataset,
    config: PretrainConfig,
    flow: SvmFlowConfig | None = None,
    watch: Watch = lambda step, loss: None,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[SvmFlowPolicy, PretrainReport]:
    """Train a flow policy on a dataset. Same seed, same data, same machine: the same weights.

    ``flow`` carries the model's sizes and device; what it was made for is filled in from the dataset.
    Raises ``DataError`` when too few episodes are left to train on.
    """
    flow = flow or SvmFlowConfig(device="cpu")
    train, held_out = split(usable(dataset.episodes, config.on), config.held_out, config.seed)
    flow.describe(dataset.robot_type, list(dataset.joints), dict(dataset.cameras), dataset.rate_hz)
    flow.dataset_id, flow.label_hash = dataset.fingerprint, dataset.label_hash
    moments = statistics([(episode.state, episode.action) for episode in train], flow.chunk_size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        policy = SvmFlowPolicy(flow)
    policy.to(flow.device)
    policy.set_statistics(moments)
    table, unseen = tabulate(train, policy), tabulate(held_out, policy)
    begun = clock()
    losses = _train(policy, table, config, watch)
    seconds = clock() - begun
    flow.encoder_fingerprint = fingerprint(policy.encoder)
    held_out_loss, nll, nll_normal = judge(policy, unseen, config.seed)
    return policy, PretrainReport(
        steps=config.steps,
        seconds=seconds,
        ms_per_step=1e3 * seconds / config.steps,
        train_episodes=len(train),
        held_out_episodes=len(held_out),
        frames=len(table),
        train_loss=float(np.mean(losses[-max(1, config.steps // 20) :])),
        held_out_loss=held_out_loss,
        nll_nats=nll,
        nll_nats_per_dim=nll / flow.latent_dim,
        nll_nats_normal=nll_normal,
        constant=constants(moments, dataset.joints),
    )


def usable(episodes: Sequence[EpisodeData], on: str) -> list[EpisodeData]:
    """Episodes to clone: successes, and for ``all`` failures and unlabelled ones too; never aborted or unsure."""
    allowed = {Outcome.SUCCESS} if on == "success" else {Outcome.SUCCESS, Outcome.FAILURE, None}
    kept = [episode for episode in episodes if episode.outcome in allowed and len(episode)]
    if len(kept) < 2:
        raise DataError(
            f"{len(kept)} of {len(episodes)} episodes can be cloned with --on={on}, at least 2 are needed "
            f"(one is held out); record more, or label what is there"
        )
    return kept


def split(episodes: Sequence[EpisodeData], held_out: float, seed: int) -> tuple[list[EpisodeData], list[EpisodeData]]:
    """Whole episodes into training and held-out ones, at least one each; in order of recording."""
    count = min(max(1, round(held_out * len(episodes))), len(episodes) - 1)
    chosen = set(np.random.default_rng(seed).permutation(len(episodes))[:count].tolist())
    train = [episode for number, episode in enumerate(episodes) if number not in chosen]
    return train, [episode for number, episode in enumerate(episodes) if number in chosen]


def tabulate(episodes: Sequence[EpisodeData], policy: SvmFlowPolicy) -> Table:
    """Cut the chunks, fit the pictures, put everything on the policy's device once."""
    device = policy.state_scale.mean.device
    cut = [windows(episode.action, policy.config.chunk_size) for episode in episodes]
    pictures = [prepare(episode.frames, policy.encoder.boxes) for episode in episodes]
    return Table(
        images={role: torch.cat([p[role] for p in pictures]).to(device) for role in policy.encoder.boxes},
        state=_float(np.concatenate([episode.state for episode in episodes]), device),
        chunk=_float(np.concatenate([chunks for chunks, _ in cut]), device),
        padded=torch.from_numpy(np.concatenate([padded for _, padded in cut])).to(device),
    )


def _train(policy: SvmFlowPolicy, table: Table, config: PretrainConfig, watch: Watch) -> list[float]:
    """The loop: random rows, one loss, one step; returns the loss of every step, all of them finite."""
    device = table.state.device
    generator = torch.Generator(device).manual_seed(config.seed)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.lr, total_steps=config.steps)
    policy.train()
    losses = []
    for step in range(config.steps):
        index = torch.randint(len(table), (config.batch,), generator=generator, device=device)
        loss = policy.losses(*table.rows(index), generator=generator).mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        if not isfinite(losses[-1]):
            raise DataError(
                f"the loss is {losses[-1]} after {step + 1} steps; values far from all others in the recording do that"
            )
        watch(step + 1, losses[-1])
    policy.eval()
    return losses


@torch.no_grad()
def judge(policy: SvmFlowPolicy, table: Table, seed: int, most: int = 256) -> tuple[float, float, float]:
    """(flow loss, nats per chunk, nats per chunk under N(0, I)) on up to ``most`` chunks that are nowhere padded."""
    device = table.state.device
    generator = torch.Generator(device).manual_seed(seed)
    whole = torch.nonzero(~table.padded.any(dim=1)).flatten()
    if not len(whole):
        raise DataError(f"no held-out episode is as long as a chunk ({policy.config.chunk_size} steps); record more")
    index = whole[torch.randperm(len(whole), generator=generator, device=device)[:most]]
    images, state, chunk, padded = table.rows(index)
    loss = policy.losses(images, state, chunk, padded, generator=generator).mean()
    features = policy.encoder.features_of(images)
    nll = policy.nll_nats(features, state, chunk).mean()
    normal = policy.nll_nats_normal(state, chunk).mean()
    return float(loss), float(nll), float(normal)


def constants(moments: Statistics, joints: Sequence[str]) -> tuple[str, ...]:
    """Names of the joints and targets that never change."""
    states = [f"state {name}" for name, std in zip(joints, moments.state_std, strict=True) if std == 0]
    still = (moments.delta_std == 0).all(axis=0)
    return tuple(states + [f"target {name}" for name, never in zip(joints, still, strict=True) if never])


def _float(values: Any, device: torch.device) -> Tensor:
    return torch.from_numpy(np.asarray(values, np.float32)).to(device)
