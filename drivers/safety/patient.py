"""A listener whose end of an episode may hang: the loop is not held up by it for ever."""

from functools import partial
from typing import Any

from svm_robot.drivers.safety.steps import Steps


class Patient:
    """Stands in front of a listener; everything but ``on_end`` is the listener's own."""

    def __init__(self, inner: Any, what: str, steps: Steps, timeout_s: float) -> None:
        """``what``: the name of the step in the log, for example ``save the episode``."""
        self.inner, self.what, self.steps, self.timeout_s = inner, what, steps, timeout_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def on_end(self, end: Any) -> None:
        """Raises what the listener raised, or ``DeviceError`` when it was left behind."""
        problem = self.steps.run(self.what, partial(self.inner.on_end, end), self.timeout_s)
        if problem is not None:
            raise problem
