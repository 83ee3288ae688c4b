"""A person at the keys of a terminal says how each episode went. Works without a display and over SSH.

LeRobot's own terminal listener is not used: it reads the last byte of some function keys as a letter, so that Shift-F4
would mean success; it loses the terminal's settings on SIGTERM; and it needs a thread where a poll is enough.
"""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from svm_robot.drivers.terminal.keys import letters
from svm_robot.drivers.terminal.single_keys import SingleKeys

VERDICTS = {"s": "success", "f": "failure", "u": "unsure", "d": "aborted"}
STOP = "q"
HELP = "s success, f failure, u unsure, d discard; q stop after this episode"
INSTEAD = "Use --judge on the virtual robot, or run this in a terminal (over SSH: ssh -t)"


class TerminalOperator:
    """Satisfies the operator's seam. Use it in a ``with`` block: the terminal is put back on every way out."""

    def __init__(
        self,
        keys: TextIO | None = None,
        screen: TextIO | None = None,
        also: Callable[[str], None] = lambda key: None,
        more_help: str = "",
    ) -> None:
        """``keys`` and ``screen``: standard input and standard error unless given.

        ``also``: told every key that is pressed while an episode runs, as ``KeyReader.keys`` names it; ``more_help``:
        what these keys do.
        """
        self.also, self.help = also, f"{HELP}; {more_help}" if more_help else HELP
        self.keys = keys if keys is not None else sys.stdin
        self.screen = screen if screen is not None else sys.stderr
        self._single = SingleKeys(self.keys, INSTEAD)
        self._stop = False

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Take single keys without echo. Raises ``ConfigError`` when there is no terminal to take them from."""
        self._single.open()

    def close(self) -> None:
        """Put the terminal back as it was; may be called twice."""
        self._single.close()

    def begin(self, episode: int) -> None:
        """Wait until the person is ready: Enter starts the episode, ``q`` says that it shall not begin.

        An Enter from before the question counts for nothing: it would move the arm while hands are in the scene.
        """
        self._pressed(0.0)
        if self._stop:
            return
        self._say(f"episode {episode}: prepare the scene, then press Enter (q stops). During it: {self.help}")
        self._wait_for({"enter", STOP})

    def poll(self, step: object) -> str | None:
        """The verdict whose key was pressed since the last call, or None; never waits."""
        return next((VERDICTS[key] for key in self._pressed(0.0, self.also) if key in VERDICTS), None)

    def outcome(self) -> str:
        """Ask, and wait for an answer."""
        self._say(f"the time is over. How did it go? {HELP}")
        return VERDICTS[self._wait_for(set(VERDICTS))]

    def wants_to_stop(self) -> bool:
        """True after ``q``."""
        return self._stop

    def _wait_for(self, wanted: set[str]) -> str:
        while True:
            for key in self._pressed(None):
                if key in wanted:
                    return key

    def _pressed(self, timeout_s: float | None, also: Callable[[str], None] = lambda key: None) -> list[str]:
        """What was typed since the last call; waits up to ``timeout_s`` (None: for ever). A ``q`` among it is noted."""
        every = self._single.pressed(timeout_s)
        for key in every:
            also(key)
        keys = letters(every)
        if STOP in keys and not self._stop:  # also behind a verdict: "sq" typed at once
            self._stop = True
            self._say("stopping after this episode")
        return keys

    def _say(self, text: str) -> None:
        print(text, file=self.screen, flush=True)
