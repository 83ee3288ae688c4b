"""The encoder: sizes, places, fingerprints."""

import numpy as np
import pytest
import torch

from svm_robot.errors import ConfigError, DataError
from svm_robot.vision.encoder import PixelEncoder, SpatialSoftmax, fingerprint
from svm_robot.vision.prepare import to_float

CAMERAS = {"front": (64, 64), "wrist": (48, 40), "side": (480, 640), "top": (24, 32)}


def frames(roles: list[str], count: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {role: rng.integers(0, 256, (count, *CAMERAS[role], 3), dtype=np.uint8) for role in roles}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_one_to_four_cameras_each_of_its_own_size(count: int) -> None:
    roles = list(CAMERAS)[:count]
    encoder = PixelEncoder({role: CAMERAS[role] for role in roles}, dim=8)
    features = encoder.encode(frames(roles))
    assert encoder.features == 8 * count
    assert features.shape == (3, 8 * count) and features.dtype == np.float32 and np.isfinite(features).all()
    blocks = features.reshape(3, count, 8)
    np.testing.assert_allclose(blocks.mean(axis=2), 0, atol=1e-5)  # each camera's block is normalised


def test_pieces_make_no_difference() -> None:
    encoder = PixelEncoder({"front": (64, 64)})
    pictures = frames(["front"], count=7)
    np.testing.assert_allclose(encoder.encode(pictures, batch=3), encoder.encode(pictures), atol=1e-5)
    assert encoder.encode({"front": np.empty((0, 64, 64, 3), np.uint8)}).shape == (0, 32)


def test_spatial_softmax_finds_a_spot() -> None:
    maps = torch.zeros(1, 2, 9, 17)
    maps[0, 0, 2, 12] = 50.0
    x, y = SpatialSoftmax()(maps)[0].reshape(3, 2)[:2, 0].tolist()
    assert x == pytest.approx(12 / 16 * 2 - 1, abs=1e-3)
    assert y == pytest.approx(2 / 8 * 2 - 1, abs=1e-3)
    assert SpatialSoftmax()(maps)[0, 4].item() == pytest.approx(50 / (9 * 17), rel=1e-4)  # the mean of channel 0


def test_it_learns_where_a_spot_is() -> None:
    torch.manual_seed(0)
    encoder, head = PixelEncoder({"front": (24, 24)}, dim=8), torch.nn.Linear(8, 2)
    rng = np.random.default_rng(0)
    places = rng.integers(3, 21, (48, 2))
    pictures = rng.integers(0, 40, (48, 24, 24, 3)).astype(np.uint8)
    for picture, (row, column) in zip(pictures, places, strict=True):
        picture[row - 2 : row + 3, column - 2 : column + 3, 0] = 250
    images, goal = {"front": to_float(torch.from_numpy(pictures))}, torch.from_numpy(places / 12 - 1).float()
    optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
    for _ in range(80):
        loss = ((head(encoder(images)) - goal) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.05 < goal.var().item() / 3  # a third of what ignoring the picture gives


def test_fingerprint_tells_weights_apart() -> None:
    torch.manual_seed(0)
    one, two = PixelEncoder({"front": (32, 32)}), PixelEncoder({"front": (32, 32)})
    assert fingerprint(one) != fingerprint(two)
    two.load_state_dict(one.state_dict())
    assert fingerprint(one) == fingerprint(two)
    with torch.no_grad():
        two.columns[0].head[0].bias[0] += 1e-6
    assert fingerprint(one) != fingerprint(two)


def test_wrong_cameras_are_refused_by_name() -> None:
    encoder = PixelEncoder({"front": (64, 64), "wrist": (48, 40)})
    with pytest.raises(DataError, match="missing wrist"):
        encoder.encode(frames(["front"]))
    with pytest.raises(DataError, match="unexpected side"):
        encoder.encode(frames(["front", "wrist", "side"]))
    with pytest.raises(ConfigError, match="1 to 4"):
        PixelEncoder({})
    with pytest.raises(ConfigError, match="got 5"):
        PixelEncoder({str(i): (32, 32) for i in range(5)})
