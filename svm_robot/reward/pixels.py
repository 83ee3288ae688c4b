"""Training the encoder together with the head, from raw pictures, where no policy's encoder is shared."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from svm_robot.data.episodes import EpisodeData
from svm_robot.errors import DataError
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.samples import Rows, action_rows, learning_rows, progress_at
from svm_robot.reward.trainer import discriminator_loss, draw_balanced
from svm_robot.rollout.episode import Outcome
from svm_robot.vision.prepare import jitter, prepare, to_float

PAD = 4
"""Random shift: pictures move by up to this many pixels. Source: Kostrikov et al., DrQ, arXiv:2004.13649."""
LEARNING_RATE = 1e-3
"""Of encoder and head together; the head alone goes on with the smaller one in its configuration."""


def random_shift(images: Tensor, generator: torch.Generator, pad: int = PAD) -> Tensor:
    """(B, 3, h, w): each picture moved by -pad..pad pixels in x and y, its border repeated."""
    count, _, height, width = images.shape
    padded = F.pad(images, (pad,) * 4, mode="replicate")
    shift = torch.randint(0, 2 * pad + 1, (2, count), generator=generator)
    top, left = shift[0].tolist(), shift[1].tolist()
    moved = [padded[i, :, y : y + height, x : x + width] for i, (y, x) in enumerate(zip(top, left, strict=True))]
    return torch.stack(moved).contiguous(memory_format=torch.channels_last)


def train_pixels(
    model: SvmRewardModel,
    episodes: Sequence[EpisodeData],
    steps: int,
    batch: int = 64,
    seed: int = 0,
    progress: Callable[[int], object] = lambda _: None,
) -> None:
    """Train encoder and head end to end on balanced batches. Raises ``DataError`` when the loss stops being finite."""
    if model.encoder is None:
        raise DataError("a reward without cameras has no encoder to train")
    device = model.state_mean.device
    moments = [(episode, learning_rows(episode, model.config)) for episode in episodes]
    images = {role: torch.cat(parts) for role, parts in _pictures(model, moments).items()}
    numbers = torch.cat([model.numbers(*_numbers(model, episode, rows)) for episode, rows in moments])
    success = np.repeat([e.outcome is Outcome.SUCCESS for e, _ in moments], [len(rows) for _, rows in moments])
    plus, minus = (torch.from_numpy(np.flatnonzero(success == value)) for value in (True, False))
    label = torch.cat([torch.ones(batch // 2), torch.zeros(batch // 2)]).to(device)
    optimizer = torch.optim.Adam(model.get_optim_params(), lr=LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)
    total = torch.zeros((), device=device)
    for step in range(steps):
        a, b = draw_balanced(len(plus), len(minus), batch, generator)
        rows = torch.cat([plus[a], minus[b]])
        shown = {role: to_float(pictures[rows].to(device)) for role, pictures in images.items()}
        shown = {r: jitter(random_shift(pictures, generator), 0.1, generator) for r, pictures in shown.items()}
        loss = discriminator_loss(
            model.logits(torch.cat([model.encoder(shown), numbers[rows].to(device)], dim=1)), label
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += loss.detach()
        progress(step)
    if not torch.isfinite(total):
        raise DataError("the loss of the discriminator and its encoder stopped being finite; fit with fewer steps")


def _pictures(model: SvmRewardModel, moments: Sequence[tuple[EpisodeData, Rows]]) -> dict[str, list[Tensor]]:
    """Role -> pieces of (N, h, w, 3) uint8 in the model's size."""
    boxes = model.encoder.boxes if model.encoder is not None else {}
    pieces: dict[str, list[Tensor]] = {role: [] for role in boxes}
    for episode, rows in moments:
        fitted = prepare({role: pictures[rows] for role, pictures in episode.frames.items()}, boxes)
        for role, piece in fitted.items():
            pieces[role].append(piece)
    return pieces


def _numbers(model: SvmRewardModel, episode: EpisodeData, rows: Rows) -> tuple[object, object, object]:
    """State, action and progress of these rows, as ``SvmRewardModel.numbers`` takes them."""
    progress = progress_at(rows, model.config) if model.config.progress else None
    return episode.state[rows], action_rows(episode, rows, model.config), progress
