"""A strip of pictures from an episode of unknown length, in bounded memory."""

from collections.abc import Mapping, Sequence

import numpy as np

from svm_robot.rollout.env import ImageArray

Pictures = Mapping[str, ImageArray]
"""Camera role -> (H, W, 3) RGB."""
Moment = tuple[int, dict[str, ImageArray]]
"""(control step, what the cameras saw then)."""
TALLEST = 240
"""Pictures are kept at most this high [pixels]; the page shows them smaller still."""


class FilmStrip:
    """Keeps an evenly spaced choice of what it is shown: at most ``2 * length`` moments while filling, ``length`` at
    the end. When it is full it drops every second moment and from then on takes every second offer only.
    """

    def __init__(self, length: int = 12, tallest: int = TALLEST) -> None:
        if length < 2:
            raise ValueError(f"a strip needs at least 2 pictures, got length={length}")
        self.length, self.tallest = length, tallest
        self.moments: list[Moment] = []
        self.stride = 1
        self.offered = 0

    def offer(self, step: int, frames: Pictures) -> None:
        """Consider the pictures seen at control step ``step``; they are copied (and shrunk) when taken."""
        if self.offered % self.stride == 0:
            self.moments.append(moment(step, frames, self.tallest))
        self.offered += 1
        if len(self.moments) >= 2 * self.length:
            self.moments = self.moments[::2]
            self.stride *= 2

    def chosen(self) -> list[Moment]:
        """At most ``length`` moments, evenly spaced, first and last included."""
        if len(self.moments) <= self.length:
            return list(self.moments)
        places = np.linspace(0, len(self.moments) - 1, self.length).round().astype(int)
        return [self.moments[place] for place in places]


def moment(step: int, frames: Pictures, tallest: int = TALLEST) -> Moment:
    """Copy (and shrink) what the cameras saw at control step ``step``."""
    return step, {role: shrink(image, tallest) for role, image in frames.items()}


def stack(moments: Sequence[Moment]) -> dict[str, ImageArray]:
    """Camera role -> (F, H, W, 3); empty when there are no pictures."""
    roles = moments[0][1] if moments else {}
    return {role: np.stack([frames[role] for _, frames in moments]) for role in roles}


def shrink(image: ImageArray, tallest: int) -> ImageArray:
    """(H, W, 3) -> a copy whose height is at most ``tallest``, by the mean over whole blocks of pixels."""
    factor = -(-image.shape[0] // tallest)
    if factor <= 1:
        return image.copy()
    height, width = image.shape[0] // factor, image.shape[1] // factor
    blocks = image[: height * factor, : width * factor].reshape(height, factor, width, factor, 3)
    small: ImageArray = blocks.mean(axis=(1, 3)).round().astype(np.uint8)
    return small
