"""From the lines of a rig file to LeRobot's object, unconnected, with everything that stands in the way told."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from svm_robot.drivers.doctor.check_ports import PortLook, check_port
from svm_robot.drivers.doctor.finding import Finding, Level, note, problem
from svm_robot.drivers.usb.ports import bind_ports, named_ports
from svm_robot.errors import SvmRobotError


@dataclass(frozen=True)
class Subject:
    """The robot or the teleoperator of a rig."""

    kind: str
    """``robot`` or ``teleop``."""
    device: Any
    """None where it cannot even be made."""
    reachable: bool
    """False when a port stands in the way; its cameras may still be looked at."""


def subject(kind: str, config: Any, look: PortLook) -> Generator[Finding, None, Subject]:
    """Look at the ports, then make the device."""
    reachable = True
    for name, text in named_ports(config, kind):
        for finding in check_port(name, text, look):
            reachable &= finding.level is not Level.PROBLEM
            yield finding
    if not reachable:
        yield note("motors", "not looked at: the port comes first", arm=kind)
    try:
        device = _made(kind, bind_ports(config, kind, look.ports)[0] if reachable else config)
    except ImportError as error:
        advice = "install what it names, with pip into this environment"
        yield problem("motors", " ".join(str(error).split()), cause="a library is missing", next=advice, arm=kind)
    except (SvmRobotError, OSError, RuntimeError, ValueError) as error:
        told = " ".join(str(error).split())
        yield problem("motors", told, cause=f"the lines under {kind} in the rig file", next="correct them", arm=kind)
    else:
        return Subject(kind, device, reachable)
    return Subject(kind, None, reachable)


def _made(kind: str, config: Any) -> Any:
    from lerobot.robots import make_robot_from_config
    from lerobot.teleoperators import make_teleoperator_from_config

    return make_robot_from_config(config) if kind == "robot" else make_teleoperator_from_config(config)
