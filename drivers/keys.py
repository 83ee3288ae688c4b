"""Letters from the bytes a terminal sends, with everything that is no letter left out. Pure: no terminal, no clock."""

from enum import Enum, auto

LONE_ESCAPE_S = 0.1
"""An Escape with nothing behind it for so long was the Escape key, not the start of an arrow key (SSH splits them)."""


class _State(Enum):
    GROUND = auto()
    ESCAPE = auto()
    SEQUENCE = auto()
    """Inside ``ESC [ ... final``: arrows, F5 and up, anything with Shift or Ctrl."""
    ONE_MORE = auto()
    """Behind ``ESC O``: F1 to F4, arrows of some terminals."""


class KeyReader:
    """A small state machine. ``ESC [ 1 ; 2 S`` (Shift-F4) is one key and holds no letter ``S``."""

    def __init__(self) -> None:
        self._state = _State.GROUND
        self._since_s = 0.0

    def feed(self, data: bytes, now_s: float) -> list[str]:
        """The keys in ``data``: lower-case letters, ``enter``. ``now_s`` tells a lone Escape from a split sequence."""
        if self._state is _State.ESCAPE and now_s - self._since_s > LONE_ESCAPE_S:
            self._state = _State.GROUND
        self._since_s = now_s
        return [key for byte in data if (key := self._key(byte))]

    def _key(self, byte: int) -> str:
        state, self._state = self._state, _State.GROUND
        match state:
            case _State.GROUND if byte == 0x1B:
                self._state = _State.ESCAPE
            case _State.GROUND if byte in b"\r\n":
                return "enter"
            case _State.GROUND:
                letter = chr(byte)
                return letter.lower() if letter.isascii() and letter.isalpha() else ""
            case _State.ESCAPE if byte == 0x1B:
                self._state = _State.ESCAPE
            case _State.ESCAPE:
                self._state = {ord("["): _State.SEQUENCE, ord("O"): _State.ONE_MORE}.get(byte, _State.GROUND)
            case _State.SEQUENCE if not 0x40 <= byte <= 0x7E:
                self._state = _State.SEQUENCE
        return ""
