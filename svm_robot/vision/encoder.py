"""A small encoder that says where things are: convolutions, then a spatial softmax.

One column of convolutions per camera, because cameras differ in size and view. Each output channel becomes the
expected position (x, y) of its feature and its mean, so 64x64 pixels turn into 32 numbers that are mostly coordinates.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from svm_robot.errors import ConfigError
from svm_robot.rollout.env import FloatArray, ImageArray
from svm_robot.vision.prepare import check_cameras, fit, prepare, to_float

MAX_CAMERAS = 4


class PixelEncoder(nn.Module):
    """Pictures of one to four cameras to one feature vector.

    ``cameras`` maps role -> (height, width) of the frames as they are recorded [pixels]; frames larger than ``side``
    are scaled down (``boxes`` holds the geometry). The features of the cameras follow each other in the order of
    ``cameras``, ``dim`` numbers each, every block normalised (LayerNorm).
    """

    def __init__(self, cameras: Mapping[str, tuple[int, int]], dim: int = 32, side: int = 64) -> None:
        super().__init__()
        if not 1 <= len(cameras) <= MAX_CAMERAS:
            raise ConfigError(f"the encoder takes 1 to {MAX_CAMERAS} cameras, got {len(cameras)}")
        self.dim, self.side = dim, side
        self.boxes = {role: fit((int(size[0]), int(size[1])), side) for role, size in cameras.items()}
        self.columns = nn.ModuleList([Column(dim) for _ in cameras])

    @property
    def features(self) -> int:
        """F, the length of the feature vector."""
        return self.dim * len(self.boxes)

    def forward(self, images: Mapping[str, Tensor]) -> Tensor:
        """Role -> (B, 3, h, w) float in -1..1 (``prepare.to_float``) to (B, F)."""
        check_cameras(images, self.boxes)
        return torch.cat([column(images[role]) for role, column in zip(self.boxes, self.columns, strict=True)], dim=1)

    def features_of(self, images: Mapping[str, Tensor]) -> Tensor:
        """Role -> (B, h, w, 3) uint8 of the model's size to (B, F)."""
        return self({role: to_float(pictures) for role, pictures in images.items()})  # type: ignore[no-any-return]

    @torch.no_grad()
    def encode(self, frames: Mapping[str, ImageArray], batch: int = 256) -> FloatArray:
        """Role -> (T, H, W, 3) uint8 as recorded to (T, F) float32, in pieces of ``batch`` frames.

        Raises ``svm_robot.errors.DataError`` for missing, unexpected or wrongly sized cameras.
        """
        check_cameras(frames, self.boxes)
        count = len(next(iter(frames.values())))
        pieces = [self._encode_piece({r: f[i : i + batch] for r, f in frames.items()}) for i in range(0, count, batch)]
        return np.concatenate(pieces) if pieces else np.empty((0, self.features), np.float32)

    def _encode_piece(self, frames: Mapping[str, ImageArray]) -> FloatArray:
        device = next(self.parameters()).device
        prepared = {role: pictures.to(device) for role, pictures in prepare(frames, self.boxes).items()}
        return self.features_of(prepared).cpu().numpy()


class Column(nn.Module):
    """The layers for one camera: (B, 3, h, w) to (B, dim).

    One wide convolution with stride 4 in place of two with stride 2: the same map of a quarter of the side, half the
    processor time in the convolutions, and no worse likelihood on held-out episodes.
    """

    def __init__(self, dim: int, channels: int = 16) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(3, channels, 8, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1),
        )
        self.softmax = SpatialSoftmax()
        sizes = 3 * channels, 64
        self.head = nn.Sequential(nn.Linear(*sizes), nn.ReLU(inplace=True), nn.Linear(64, dim), nn.LayerNorm(dim))

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.softmax(self.convolutions(images)))  # type: ignore[no-any-return]


class SpatialSoftmax(nn.Module):
    """(B, C, h, w) to (B, 3 C): expected x, expected y (both -1..1) and mean of every channel.

    Source: Finn et al., Deep Spatial Autoencoders, ICRA 2016; the temperature is learned (as its logarithm).
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_temperature = nn.Parameter(torch.zeros(()))

    def forward(self, maps: Tensor) -> Tensor:
        height, width = maps.shape[2:]
        flat = maps.permute(0, 2, 3, 1).reshape(len(maps), height * width, -1)  # a view of channels-last maps
        weights = torch.softmax(flat * torch.exp(-self.log_temperature), dim=1)
        grid = _grid(height, width, maps.device, maps.dtype)
        places = torch.einsum("bpc,pk->bkc", weights, grid).flatten(1)
        return torch.cat([places, flat.mean(dim=1)], dim=1)


def _grid(height: int, width: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """(h*w, 2) coordinates (x, y) of the pixels' centres, from -1 to 1."""
    y, x = torch.meshgrid(
        torch.linspace(-1, 1, height, device=device, dtype=dtype),
        torch.linspace(-1, 1, width, device=device, dtype=dtype),
        indexing="ij",
    )
    return torch.stack([x.flatten(), y.flatten()], dim=1)


def fingerprint(module: nn.Module) -> str:
    """Short hash of a module's weights: equal exactly when all names, shapes and values are equal."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        values = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
        digest.update(values.numpy().tobytes())
    return digest.hexdigest()[:16]
