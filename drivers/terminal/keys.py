"""Keys from the bytes a terminal sends. Pure: no terminal, no clock."""

import codecs
from collections.abc import Sequence
from enum import Enum, auto

LONE_ESCAPE_S = 0.1
"""An Escape with nothing behind it for so long was the Escape key, not the start of an arrow key (SSH splits them)."""

CONTROLS = {0x0D: "enter", 0x0A: "enter", 0x7F: "backspace", 0x08: "backspace"}
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}


class _State(Enum):
    GROUND = auto()
    ESCAPE = auto()
    SEQUENCE = auto()
    """Inside ``ESC [ final``: arrows."""
    PARAMETERS = auto()
    """Inside ``ESC [ ... final``: F5 and up, anything with Shift or Ctrl."""
    ONE_MORE = auto()
    """Behind ``ESC O``: F1 to F4, arrows of some terminals."""


class KeyReader:
    """A small state machine. ``ESC [ 1 ; 2 S`` (Shift-F4) is one key and holds no letter ``S``."""

    def __init__(self) -> None:
        self._state = _State.GROUND
        self._since_s = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def keys(self, data: bytes, now_s: float) -> list[str]:
        """Every key in ``data``: characters as they were typed, ``enter``, ``backspace``, ``escape``, the four arrows.

        ``now_s`` tells a lone Escape from a split sequence; call it with no data to learn of an Escape in time.
        Function keys, and keys with Alt or Ctrl, are left out.
        """
        found = []
        if self._state is _State.ESCAPE and now_s - self._since_s > LONE_ESCAPE_S:
            self._state = _State.GROUND
            found.append("escape")
        if data:
            self._since_s = now_s
        return found + [key for byte in data if (key := self._key(byte))]

    def _key(self, byte: int) -> str:
        state, self._state = self._state, _State.GROUND
        match state:
            case _State.GROUND if byte == 0x1B:
                self._state = _State.ESCAPE
            case _State.GROUND if byte in CONTROLS:
                return CONTROLS[byte]
            case _State.GROUND:
                character = self._decoder.decode(bytes([byte]))[-1:]  # behind a torn one, what follows it
                return character if character.isprintable() else ""
            case _State.ESCAPE if byte == 0x1B:
                self._state = _State.ESCAPE
            case _State.ESCAPE:
                self._state = {ord("["): _State.SEQUENCE, ord("O"): _State.ONE_MORE}.get(byte, _State.GROUND)
            case _State.SEQUENCE | _State.ONE_MORE if chr(byte) in ARROWS:
                return ARROWS[chr(byte)]
            case _State.SEQUENCE | _State.PARAMETERS if not 0x40 <= byte <= 0x7E:
                self._state = _State.PARAMETERS
        return ""


def is_letter(key: str) -> bool:
    """True for one letter, False for the name of a key."""
    return len(key) == 1 and key.isalpha()


def letters(keys: Sequence[str]) -> list[str]:
    """Of these keys only what can be a verdict: letters, in lower case, and ``enter``."""
    return [key.lower() for key in keys if key == "enter" or (key.isascii() and is_letter(key))]
