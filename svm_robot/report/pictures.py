"""Camera pictures for the page, as PNG inside the page."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.image import imsave

from svm_robot.report.examples import Example
from svm_robot.rollout.env import ImageArray


@dataclass(frozen=True)
class Picture:
    caption: str
    image: str
    """A ``data:`` address."""


def first_and_last(examples: Sequence[Example]) -> list[Picture]:
    """Start and end of a success (of any episode, when none succeeded), from each camera; empty without examples."""
    kept = sorted((e for e in examples if e.frames), key=lambda e: e.outcome != "success")
    if not kept:
        return []
    example, found = kept[0], []
    for place, moment in ((0, "at the start"), (-1, f"at the end ({example.outcome})")):
        for role, pictures in example.frames.items():
            found.append(Picture(f"{role} camera, {moment}", png_uri(pictures[place])))
    return found


def png_uri(image: ImageArray) -> str:
    """(H, W, 3) RGB as a ``data:`` address."""
    buffer = io.BytesIO()
    imsave(buffer, image, format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
