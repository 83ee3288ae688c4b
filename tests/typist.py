"""A person at a terminal, for verbs that read keys."""

import os
import pty
import threading
import time
from collections.abc import Callable

PATIENCE_S = 60.0


class Typist:
    """Presses keys on a terminal, each some seconds after the one before, as soon as ``begins`` says so.

    ``keys`` is the terminal as a program reads it, ``hand`` the person's side of it.
    """

    def __init__(self, *presses: tuple[float, bytes], begins: Callable[[], bool] = lambda: True) -> None:
        self.hand, slave = pty.openpty()
        self.keys = os.fdopen(slave, "r")
        self.presses, self.begins = presses, begins
        self.thread = threading.Thread(target=self.type)

    def type(self) -> None:
        patience_s = time.monotonic() + PATIENCE_S
        while not self.begins() and time.monotonic() < patience_s:
            time.sleep(0.05)
        for after_s, data in self.presses:
            time.sleep(after_s)
            os.write(self.hand, data)

    def __enter__(self) -> "Typist":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.join()
        self.keys.close()
        os.close(self.hand)
