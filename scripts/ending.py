"""How a session ends: the motors first, then every other part within its time; the first error is the one shown."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from svm_robot.drivers.safety.patient import Patient
from svm_robot.drivers.safety.steps import Steps, StopTimes
from svm_robot.scripts.cli import warn

if TYPE_CHECKING:
    from svm_robot.drivers.rig_env import RigEnv


class Ending:
    """The steps by which a session ends."""

    def __init__(self, steps: Steps, env: "RigEnv | None" = None, times: StopTimes | None = None) -> None:
        """``env``: None where nothing moves by itself (lockstep)."""
        self.steps, self.env, self.times = steps, env, times or StopTimes()

    @contextmanager
    def motors_first(self) -> Iterator[None]:
        """Around everything that moves the robot: whatever ends it, the motors are safe before anything is closed."""
        try:
            yield
        except BaseException as error:
            if self.env is not None:
                self.env.make_safe(error)
            raise
        if self.env is not None:
            self.env.make_safe()

    def closing(self, stack: ExitStack, name: str, action: Callable[[], object], serious: bool = True) -> None:
        """Let ``stack`` do this at its end, within its time.

        What fails is raised only where it is ``serious`` and nothing else was raised; else it is told.
        """

        def close(kind: object, error: BaseException | None, trace: object) -> None:
            problem = self.steps.run(name, action, self.times.close_s)
            if problem is not None and error is None and serious:
                raise problem
            if problem is not None:
                warn(f"while {name}: {problem}")

        stack.push(close)

    def told(self, say: Callable[[], object]) -> None:
        """Last words for the person at the terminal; one that is gone or stuck changes nothing."""
        self.steps.run("telling what was saved", say, self.times.hold_s)

    def patient(self, listener: Any, name: str) -> Any:
        """The listener, whose end of an episode may take so long and no longer."""
        return Patient(listener, name, self.steps, self.times.save_s)
