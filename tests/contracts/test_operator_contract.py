"""What every ``Operator`` must do. A new operator is one more row of ``OPERATORS``."""

import io
import os
import pty
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import toys

from svm_robot.drivers.terminal.operator import TerminalOperator
from svm_robot.drivers.virtual.judge import Judge
from svm_robot.rollout import Operator, Outcome


@dataclass
class Case:
    """An operator, and how to make it say something."""

    operator: Operator
    succeed: Callable[[], None]
    ready: Callable[[], None]
    """Lets ``begin`` return."""
    fail: Callable[[], None]
    """Lets ``outcome`` return without success."""


def judge(stack: ExitStack) -> Case:
    world = SimpleNamespace(done=False)
    world.succeeded = lambda: world.done
    return Case(Judge(world), lambda: setattr(world, "done", True), nothing, nothing)


def toy(stack: ExitStack) -> Case:
    env = toys.ToyEnv()
    return Case(toys.ToyOperator(env), lambda: env.q.fill(50.0), nothing, nothing)


def terminal(stack: ExitStack) -> Case:
    hand, slave = pty.openpty()
    stack.callback(os.close, hand)
    keys = stack.enter_context(os.fdopen(slave))
    screen = io.StringIO()
    operator = stack.enter_context(TerminalOperator(keys, screen))
    press = {key: (lambda data=key: os.write(hand, data)) for key in (b"s", b"\r", b"f")}

    def ready() -> None:
        typist = threading.Timer(0.1, press[b"\r"])  # an Enter counts only after the question
        typist.start()
        stack.callback(typist.join)

    return Case(operator, press[b"s"], ready, press[b"f"])


def nothing() -> None: ...


OPERATORS: dict[str, Callable[[ExitStack], Case]] = {"toy": toy, "judge": judge, "terminal": terminal}


@pytest.fixture(params=list(OPERATORS))
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with ExitStack() as stack:
        yield OPERATORS[request.param](stack)


STEP = SimpleNamespace()


def test_says_nothing_until_there_is_something_to_say(case: Case) -> None:
    case.ready()
    case.operator.begin(0)
    for _ in range(3):
        assert case.operator.poll(STEP) is None
    assert not case.operator.wants_to_stop()


def test_a_verdict_is_an_outcome(case: Case) -> None:
    case.succeed()
    said = None
    for _ in range(1000):
        said = case.operator.poll(STEP)
        if said is not None:
            break
    assert said is not None
    assert Outcome(said) is Outcome.SUCCESS


def test_the_time_limit_gets_an_outcome(case: Case) -> None:
    case.fail()
    assert Outcome(case.operator.outcome()) is Outcome.FAILURE
