"""What is sent to a terminal, read back as a terminal reads it."""

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from svm_robot.curation.review.half_blocks import COARSE, GREYS, LEVELS, NOISE, Canvas, nearest_of_256

Screen = dict[tuple[int, int], tuple[str, str]]


def shown(data: bytes, screen: Screen | None = None) -> Screen:
    """(line, column) -> (colour above, colour below), as a terminal would show it."""
    found: Screen = {} if screen is None else screen
    line = column = -1
    colours = ("", "")
    for place, colour, text in re.findall(r"\x1b\[(\d+;\d+)H|\x1b\[([\d;]*)m|(.)", data.decode()):
        if place:
            line, column = (int(number) - 1 for number in place.split(";"))
        elif text:
            assert text == "\u2580"
            found[line, column] = colours
            column += 1
        elif colour in ("", "0"):
            colours = ("", "")
        else:
            upper, lower = re.fullmatch(r"38;((?:2;\d+;\d+;\d+)|(?:5;\d+));48;(.*)", colour).groups()  # type: ignore[union-attr]
            colours = (upper, lower)
    return found


def picture(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def test_each_cell_shows_two_pixels_in_true_colour() -> None:
    image = picture(6, 5)
    cells = shown(Canvas(truecolor=True).draw(image, 2, 7))
    assert set(cells) == {(2 + row, 7 + column) for row in range(3) for column in range(5)}
    for (line, column), pair in cells.items():
        for half, colour in enumerate(pair):
            told = np.array([int(number) for number in colour.split(";")[1:]])
            pixel = image[2 * (line - 2) + half, column - 7].astype(int)
            assert np.all((pixel - told >= 0) & (pixel - told < COARSE))


def test_only_what_changed_is_sent_again() -> None:
    canvas, image = Canvas(truecolor=True), picture(8, 10)
    screen = shown(canvas.draw(image, 0, 0))
    assert canvas.draw(image, 0, 0) == b""
    image[5, 3] += 128
    image[5, 9, 1] += 128
    update = canvas.draw(image, 0, 0)
    assert set(shown(update)) == {(2, 3), (2, 9)}
    assert shown(update, screen) == shown(Canvas(truecolor=True).draw(image, 0, 0))
    image[:] = np.where(image > NOISE, image - NOISE + 1, image)
    assert canvas.draw(image, 0, 0) == b"", "noise"
    image[:] = np.where(image > NOISE, image - NOISE + 1, image)
    assert len(shown(canvas.draw(image, 0, 0))) > 30, "which does not creep"
    canvas.clear()
    assert len(shown(canvas.draw(image, 0, 0))) == 40


def test_another_size_is_drawn_anew() -> None:
    canvas = Canvas(truecolor=False)
    canvas.draw(picture(8, 10), 0, 0)
    assert len(shown(canvas.draw(picture(4, 10), 0, 0))) == 20


def test_the_nearest_of_the_256_colours_is_as_near_as_any() -> None:
    image = picture(16, 16)
    image[:2] = image[:2, :, :1]  # greys
    cube = np.stack(np.meshgrid(LEVELS, LEVELS, LEVELS, indexing="ij"), axis=-1).reshape(-1, 3)
    palette = np.concatenate([cube, np.repeat(GREYS[:, None], 3, axis=1)])
    best = np.square(image.reshape(-1, 1, 3).astype(int) - palette).sum(axis=-1).min(axis=1)
    ours = np.square(image.reshape(-1, 3).astype(int) - palette[nearest_of_256(image).ravel() - 16]).sum(axis=-1)
    assert np.array_equal(ours, best)


@pytest.mark.parametrize(
    ("colour", "number"), [((0, 0, 0), 16), ((255, 255, 255), 231), ((255, 0, 0), 196), ((8, 8, 8), 232)]
)
def test_colours_that_are_known_by_number(colour: tuple[int, int, int], number: int) -> None:
    image = np.full((2, 1, 3), colour, np.uint8)
    assert nearest_of_256(image).tolist() == [[number], [number]]
    assert f"\x1b[38;5;{number};48;5;{number}m".encode() in Canvas(truecolor=False).draw(image, 0, 0)
