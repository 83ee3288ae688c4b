"""Shows a review in a terminal: draws the frame that is due, waits for keys, never more than one frame in memory."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Protocol

from svm_robot.curation.review.board import LEAST, Panel, arrange, captions, seen, texts
from svm_robot.curation.review.film import Film
from svm_robot.curation.review.half_blocks import Canvas
from svm_robot.curation.review.review import Review
from svm_robot.data.label_view import EpisodeLabel
from svm_robot.errors import DataError

DRAW_S = 1 / 15
"""Least time between two pictures; frames that are due in between are left out, the film keeps its rate."""
BYTES_PER_S = 1.5e6
"""What a line (SSH) is trusted to carry: more would pile up, and keys would be answered seconds later."""
IDLE_S = 0.1

OpenFilms = Callable[[EpisodeLabel], Mapping[str, Film]]


class Display(Protocol):
    """A terminal. ``svm_robot.drivers.terminal.screen.Screen`` is one."""

    @property
    def truecolor(self) -> bool:
        """True when it has 24-bit colour."""

    def size(self) -> tuple[int, int]:
        """(columns, lines) now."""

    def write(self, data: bytes) -> None:
        """Send escape sequences; may block while the line is full."""

    def pressed(self, timeout_s: float) -> list[str]:
        """Keys since the last call; waits up to ``timeout_s`` for one."""


def watch(
    review: Review,
    display: Display,
    films: OpenFilms,
    cameras: Mapping[str, tuple[int, int]],
    task: Callable[[EpisodeLabel], str],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Until ``q``. ``cameras``: role -> (height, width) as recorded; ``films`` are opened one episode at a time."""
    while not review.finished:
        episode, player = review.episode, review.player
        with ExitStack() as stack:
            opened = films(episode)
            for film in opened.values():
                stack.callback(film.close)
            painter = Painter(display, opened, cameras, task(episode))
            while not review.finished and review.player is player:
                began_s = clock()
                sent = painter.draw(review, player.frame(began_s))
                rest_s = max(DRAW_S, sent / BYTES_PER_S) if player.playing else IDLE_S
                wait_for_keys(review, display, began_s + rest_s, clock)


def wait_for_keys(review: Review, display: Display, until_s: float, clock: Callable[[], float]) -> None:
    """Do what is typed until the next picture is due, and draw at once after a key."""
    while True:
        keys = display.pressed(max(0.0, until_s - clock()))
        for key in keys:
            review.press(key, clock())
            if review.finished:
                return
        if keys or clock() >= until_s:
            return


class Painter:
    """Draws one episode; sends only what has changed."""

    def __init__(
        self, display: Display, films: Mapping[str, Film], cameras: Mapping[str, tuple[int, int]], task: str
    ) -> None:
        self.display, self.films, self.cameras, self.task = display, films, cameras, task
        self.canvas = Canvas(display.truecolor)
        self._shape: tuple[int, ...] = ()
        self._frame = -1
        self._panels: list[Panel] = []
        self._lines: dict[tuple[int, int], str] = {}

    def draw(self, review: Review, frame: int) -> int:
        """Show this frame and what there is to say. Returns how many bytes that took."""
        data = b""
        size = self.display.size()
        if (*size, review.alone) != self._shape:
            self._shape, self._frame, self._lines = (*size, review.alone), -1, {}
            self._panels = arrange(*size, seen(self.cameras, review.alone))
            self.canvas.clear()
            data = b"\x1b[0m\x1b[2J"
        troubles: dict[str, str] = {}
        if frame != self._frame:
            self._frame = frame
            for panel in self._panels:
                data += self._picture(panel, frame, troubles)
            data += self._text(captions(self._panels, troubles), to_the_end=False)
        data += self._text(self._words(review, frame, *size), to_the_end=True)
        self.display.write(data)
        return len(data)

    def _picture(self, panel: Panel, frame: int, troubles: dict[str, str]) -> bytes:
        try:
            picture = self.films[panel.role].picture(frame, panel.height, panel.width)
        except DataError as error:
            troubles[panel.role] = str(error)
            return b""
        return self.canvas.draw(picture, panel.line, panel.column)

    def _words(self, review: Review, frame: int, columns: int, lines: int) -> dict[tuple[int, int], str]:
        if columns < LEAST[0] or lines < LEAST[1]:
            return {(0, 0): f"make this window larger ({LEAST[0]}x{LEAST[1]} at least)"}
        return {(line, 0): text for line, text in texts(review, frame, self.task, columns, lines).items()}

    def _text(self, found: Mapping[tuple[int, int], str], to_the_end: bool) -> bytes:
        """Those texts that are not shown yet. The terminal cuts what is too long for a line."""
        parts = []
        for (line, column), text in found.items():
            if self._lines.get((line, column)) != text:
                self._lines[line, column] = text
                clear = "\x1b[K" if to_the_end else ""
                parts.append(f"\x1b[{line + 1};{column + 1}H\x1b[0m{clear}{text}\x1b[0m")
        return "".join(parts).encode()
