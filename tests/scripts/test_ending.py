"""The end of a session: motors first, the first error kept, a gone terminal no obstacle."""

from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.safety.steps import Steps, StopTimes
from svm_robot.scripts.cli import warn
from svm_robot.scripts.ending import Ending


def ending(diary: list[str]) -> Ending:
    env = SimpleNamespace(make_safe=lambda error=None: diary.append(f"safe {error!r}"))
    return Ending(Steps(MonotonicClock()), env, StopTimes(close_s=0.2, hold_s=0.2))  # type: ignore[arg-type]


def fails() -> None:
    raise OSError("the lock is lost")


def test_motors_come_before_everything_that_was_opened() -> None:
    diary: list[str] = []
    end = ending(diary)
    with pytest.raises(ValueError, match="bug"), ExitStack() as stack:
        end.closing(stack, "closing the dataset", lambda: diary.append("closed"))
        with end.motors_first():
            raise ValueError("bug")
    assert diary == ["safe ValueError('bug')", "closed"]
    with ExitStack() as stack:
        end.closing(stack, "closing the dataset", lambda: diary.append("closed"))
        with end.motors_first():
            diary.append("moves")
    assert diary[2:] == ["moves", "safe None", "closed"]


def test_what_fails_afterwards_is_told_and_does_not_take_the_place_of_the_first_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    end = ending([])
    with pytest.raises(KeyboardInterrupt), ExitStack() as stack:
        end.closing(stack, "closing the dataset", fails)
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "note: while closing the dataset: the lock is lost\n"


def test_what_fails_alone_is_the_error_where_it_is_serious(capsys: pytest.CaptureFixture[str]) -> None:
    end = ending([])
    with pytest.raises(OSError, match="the lock is lost"), ExitStack() as stack:
        end.closing(stack, "closing the dataset", fails)
    with ExitStack() as stack:
        end.closing(stack, "switching the teleoperator off", fails, serious=False)
    assert "while switching the teleoperator off: the lock is lost" in capsys.readouterr().err


def test_last_words_to_a_terminal_that_is_gone_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    end = ending([])
    end.told(fails)
    assert [done.name for done in end.steps.log] == ["telling what was saved"]

    class Gone:
        def write(self, text: str) -> None:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stderr", Gone())
    warn("nobody reads this")


def test_in_lockstep_there_are_no_motors() -> None:
    with Ending(Steps(MonotonicClock())).motors_first():
        pass
