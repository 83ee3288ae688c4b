"""One line about a camera that fails, instead of LeRobot's dozen and a traceback."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

READER = "_read_loop"
"""How LeRobot's cameras name the threads that read them."""
LOGGER = "lerobot.cameras"


@contextmanager
def told_once() -> Iterator[None]:
    """Within: LeRobot's reading threads end without a traceback, and do not log every failed try.

    The guard of the camera tells the same with role, device and age. Other threads keep their tracebacks.
    """
    logger, before = logging.getLogger(LOGGER), threading.excepthook
    level = logger.level

    def hook(arguments: threading.ExceptHookArgs) -> None:
        ours = arguments.thread is not None and arguments.thread.name.endswith(READER)
        if not (ours and issubclass(arguments.exc_type, RuntimeError)):
            before(arguments)

    threading.excepthook = hook
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        threading.excepthook = before
