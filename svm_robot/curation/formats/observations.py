"""Observations as dictionaries of arrays, as gym environments and robomimic keep them: pictures, and numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.data.schema import Feature, vector
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout.env import ImageArray

IMAGE_NAMES = ["height", "width", "channels"]


def flatten(observation: Any, path: str = "") -> dict[str, Any]:
    """Nested dictionaries as one, keys joined by dots; a bare array is called ``state``."""
    if not isinstance(observation, Mapping):
        return {path or "state": observation}
    found: dict[str, Any] = {}
    for key, value in observation.items():
        found |= flatten(value, f"{path}.{key}" if path else str(key))
    return found


def looks_like_picture(value: NDArray[Any]) -> bool:
    """True for bytes with a height, a width and channels (and perhaps a stack of such before them)."""
    return value.dtype == np.uint8 and value.ndim >= 3 and (value.shape[-1] in (1, 3) or value.shape[-3] in (1, 3))


def as_picture(value: NDArray[Any]) -> ImageArray:
    """(H, W, 3) RGB from one frame: grey, channels first, or the last one of a stack. Raises ``DataError``."""
    while value.ndim > 3:
        value = value[-1]
    if value.ndim != 3 or value.dtype != np.uint8:
        raise DataError(f"a picture has shape {value.shape} of {value.dtype}; expected (height, width, 3) of uint8")
    if value.shape[-1] not in (1, 3):
        value = np.moveaxis(value, 0, -1)
    return np.ascontiguousarray(np.repeat(value, 3, axis=-1) if value.shape[-1] == 1 else value)


def as_vector(value: Any) -> NDArray[np.float64]:
    """(n,) numbers of one step: a number, a vector, or the last one of a stack. Raises ``DataError``."""
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "biuf" or numbers.ndim > 2:
        raise DataError(f"expected a vector of numbers, got {numbers.dtype} of shape {numbers.shape}")
    numbers = numbers[-1] if numbers.ndim == 2 else numbers
    return numbers.reshape(-1).astype(np.float64)


def pick_state(vectors: Sequence[str], wanted: Sequence[str] | None, where: str) -> tuple[str, ...]:
    """The observations that make up the state, in order. Raises ``ConfigError`` for one that is not there."""
    known = ", ".join(vectors) or "none"
    unknown = [key for key in wanted or () if key not in vectors]
    if unknown:
        raise ConfigError(f"--state: {where} has no observation {', '.join(unknown)}; its vectors are: {known}")
    if wanted:
        return tuple(wanted)
    if "state" in vectors:
        return ("state",)
    if not vectors:
        raise DataError(f"{where} has no observation of numbers to make the state of")
    return tuple(sorted(vectors))


def state_feature(sizes: Mapping[str, int]) -> Feature:
    """The state's feature from the length of each of its parts."""
    names = [key if size == 1 else f"{key}_{number}" for key, size in sizes.items() for number in range(size)]
    return vector("float32", len(names), names)


def picture_features(sizes: Mapping[str, tuple[int, int]]) -> dict[str, Feature]:
    """Video features from camera role -> (height, width)."""
    return {
        columns.IMAGES + role: {"dtype": "video", "shape": [*size, 3], "names": list(IMAGE_NAMES)}
        for role, size in sizes.items()
    }
