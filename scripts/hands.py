"""Who moves the robot by hand, and who watches the keys: shared by ``teleop`` and ``record --takeover``."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError
from svm_robot.rollout import Listener, Operator, Policy
from svm_robot.scripts.cli import warn

if TYPE_CHECKING:
    from svm_robot.drivers.teleop.hand import Hand
    from svm_robot.scripts.cell import Cell

INSTEAD = "Run this in a terminal (over SSH: ssh -t)"


def hand_of(kind: str, rig: RigConfig, cell: "Cell") -> "Hand":
    """``leader``: the rig's teleoperator, connected; ``keyboard``; ``auto``: the first where the rig has one.

    Raises ``ConfigError`` for a lockstep robot: a person needs real time.
    """
    if getattr(rig.robot, "link", "wire") == "lockstep":
        raise ConfigError("a person needs real time to move a robot; set robot.link to wire")
    if kind == "leader" or (kind == "auto" and rig.teleop is not None):
        return cell.hand()
    from svm_robot.drivers.teleop.jog import JogHand

    limits = cell.env.safety if hasattr(cell.env, "safety") else None
    ranges = (
        {} if limits is None else dict(zip(limits.joints, zip(limits.lower, limits.upper, strict=True), strict=True))
    )
    return JogHand(cell.env.spec.joints, ranges)


@dataclass(frozen=True)
class Acting:
    """What an episode runs with."""

    policy: Policy
    operator: Operator
    listeners: list[Listener]
    """What must hear of each step so that a person can take over without a jump."""


@contextmanager
def acting(takeover: str, rig: RigConfig, cell: "Cell", policy: Policy, judge: bool) -> Iterator[Acting]:
    """The policy and who says how it went; with ``takeover`` (``keyboard``, ``leader``) a person may interrupt it."""
    from svm_robot.scripts.evaluate import who_judges

    if takeover == "none":
        with who_judges(cell, judge) as alone:
            yield Acting(policy, alone, [])
        return
    from svm_robot.drivers.teleop.beside import KeysBeside
    from svm_robot.drivers.teleop.jog import HELP as JOG
    from svm_robot.drivers.teleop.takeover import HELP, TakeOver
    from svm_robot.drivers.terminal.operator import TerminalOperator

    both = TakeOver(policy, hand_of(takeover, rig, cell))
    keys = f"{HELP}; {JOG}" if takeover == "keyboard" else HELP
    operator: Any = (
        KeysBeside(cell.judge(), both.press, INSTEAD) if judge else TerminalOperator(also=both.press, more_help=keys)
    )
    if judge:
        warn(f"keys: {keys}; q stops after this episode")
    with operator:
        yield Acting(both, operator, [both])
