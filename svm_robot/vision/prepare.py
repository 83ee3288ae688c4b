"""From camera frames to what a network sees: the same bytes while training, scoring and acting.

A frame is fitted into the model's size once (letterbox, still uint8) and turned into floats once (on the network's
device). Both steps are here and nowhere else, so a live picture and a recorded one give identical tensors.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout.env import ImageArray

MULTIPLE = 8
"""Model sizes are multiples of this, so that strided convolutions lose no border."""


@dataclass(frozen=True)
class Letterbox:
    """Where a camera's picture lies inside the model's picture. All sizes are (height, width) [pixels]."""

    source: tuple[int, int]
    target: tuple[int, int]
    content: tuple[int, int]
    """Size of the scaled picture; the rest of ``target`` is black."""
    offset: tuple[int, int]
    """Top left corner of the content inside ``target`` (row, column)."""


def fit(source: tuple[int, int], side: int) -> Letterbox:
    """Scale ``source`` so that its longer side is ``side`` (never up), and pad to multiples of 8 around the middle."""
    height, width = source
    if min(height, width) < 1 or side < MULTIPLE:
        raise ConfigError(f"cannot fit a {height}x{width} picture into {side} pixels (at least {MULTIPLE})")
    scale = min(1.0, side / max(height, width))
    content = (max(1, round(height * scale)), max(1, round(width * scale)))
    target = (_round_up(content[0]), _round_up(content[1]))
    return Letterbox(source, target, content, ((target[0] - content[0]) // 2, (target[1] - content[1]) // 2))


def letterbox(images: Tensor, box: Letterbox) -> Tensor:
    """(N, H, W, 3) uint8 of the camera's size to (N, h, w, 3) uint8 of the model's size. Same size: the same tensor."""
    if tuple(images.shape[1:3]) != box.source:
        raise DataError(f"pictures are {images.shape[1]}x{images.shape[2]}, expected {box.source[0]}x{box.source[1]}")
    if box.target == box.source:
        return images
    if box.content != box.source:
        channels_first = images.permute(0, 3, 1, 2)
        scaled = F.interpolate(channels_first, size=box.content, mode="bilinear", antialias=True, align_corners=False)
        images = scaled.permute(0, 2, 3, 1)
    top, left = box.offset
    canvas = images.new_zeros((len(images), *box.target, 3))
    canvas[:, top : top + box.content[0], left : left + box.content[1]] = images
    return canvas


def prepare(frames: Mapping[str, ImageArray], boxes: Mapping[str, Letterbox]) -> dict[str, Tensor]:
    """Fit the frames of every camera, role -> (T, H, W, 3) uint8, to the model's sizes, still uint8.

    Raises ``DataError`` naming missing and unexpected cameras, wrong sizes and wrong types.
    """
    check_cameras(frames, boxes)
    prepared = {}
    for role, box in boxes.items():
        images = frames[role]
        if images.ndim != 4 or images.shape[-1] != 3 or str(images.dtype) != "uint8":
            raise DataError(f"camera {role}: expected (T, H, W, 3) uint8, got {images.shape} {images.dtype}")
        if images.shape[1:3] != box.source:
            got, want = "x".join(map(str, images.shape[1:3])), "x".join(map(str, box.source))
            raise DataError(f"camera {role}: pictures are {got}, the model was made for {want} (height x width)")
        prepared[role] = letterbox(torch.from_numpy(images), box)
    return prepared


def check_cameras(frames: Mapping[str, object], expected: Mapping[str, object]) -> None:
    """Refuse a set of cameras that is not exactly the expected one, by name."""
    missing = [role for role in expected if role not in frames]
    extra = [role for role in frames if role not in expected]
    if missing or extra:
        parts = [f"missing {', '.join(missing)}"] if missing else []
        parts += [f"unexpected {', '.join(extra)}"] if extra else []
        raise DataError(f"cameras do not fit the model ({'; '.join(parts)}); it sees {', '.join(expected)}")


def to_float(images: Tensor) -> Tensor:
    """(N, h, w, 3) uint8 to (N, 3, h, w) float32 in -1..1, laid out channels-last (what convolutions like best)."""
    return images.permute(0, 3, 1, 2).float().mul_(1 / 127.5).sub_(1.0)


def jitter(images: Tensor, strength: float, generator: torch.Generator | None) -> Tensor:
    """Change colour and brightness of each picture (training only): (N, 3, h, w) in -1..1 to the same.

    The gain is uniform in 1 +- ``strength``, the offset uniform in +- ``strength``: one draw for the picture and a
    third as much again for each colour.
    """
    if strength == 0:
        return images
    source = images.device if generator is None else generator.device  # the same draws wherever the pictures are
    draws = torch.rand((2, len(images), 4, 1, 1), generator=generator, device=source, dtype=images.dtype)
    shifts = (2 * draws.to(images.device) - 1) * strength
    gain, offset = shifts[:, :, :1] + shifts[:, :, 1:] / 3
    return torch.addcmul(offset, images, 1 + gain)


def _round_up(pixels: int) -> int:
    return -(-pixels // MULTIPLE) * MULTIPLE
