"""Keys of a terminal beside an operator that needs none: the simulator judges, a person takes over."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TextIO

from svm_robot.drivers.terminal.single_keys import SingleKeys

STOP = "q"


class KeysBeside:
    """Satisfies the operator's seam around another one. Use it in a ``with`` block."""

    def __init__(self, operator: Any, also: Callable[[str], None], instead: str, keys: TextIO | None = None) -> None:
        """``also``: told every key while an episode runs; ``instead``: what to do where there is no terminal."""
        self.operator, self.also = operator, also
        self._single = SingleKeys(keys if keys is not None else sys.stdin, instead)
        self._stop = False

    def __enter__(self) -> Self:
        self._single.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._single.close()

    def pressed(self) -> list[str]:
        """Every key since the last call, as ``KeyReader.keys`` names it; ``q`` is noted."""
        keys = self._single.pressed()
        self._stop |= STOP in keys
        return keys

    def begin(self, episode: int) -> None:
        """Keys from before the episode count for nothing."""
        self.pressed()
        self.operator.begin(episode)

    def poll(self, step: Any) -> str | None:
        """The other one's verdict, after the keys were passed on."""
        for key in self.pressed():
            self.also(key)
        verdict: str | None = self.operator.poll(step)
        return verdict

    def outcome(self) -> str:
        """The other one's."""
        return str(self.operator.outcome())

    def wants_to_stop(self) -> bool:
        """True after ``q``, or when the other one wants to."""
        return self._stop or bool(self.operator.wants_to_stop())
