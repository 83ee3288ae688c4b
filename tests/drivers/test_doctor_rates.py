"""What the doctor says of the rate: a computer that keeps up, one that does not, joints that fail in between."""

from types import SimpleNamespace
from typing import Any

import pytest
from clocks import FakeClock

from svm_robot.drivers.doctor.check_cameras import Cameras
from svm_robot.drivers.doctor.check_rates import check_rates
from svm_robot.drivers.doctor.finding import Finding
from svm_robot.errors import DeviceError


def looked(takes_s: float, fails: bool = False) -> Finding:
    clock = FakeClock()

    def sync_read(name: str, normalize: bool) -> dict[str, int]:
        clock.time_s += takes_s
        if fails:
            raise DeviceError("no answer")
        return {}

    arm: Any = SimpleNamespace(bus=SimpleNamespace(sync_read=sync_read))
    return next(iter(check_rates([arm], Cameras({}), 10.0, 0.2, 2.0, clock)))


def test_a_computer_that_keeps_up() -> None:
    found = looked(0.02)
    assert found.level == "ok" and found.values["achieved_hz"] == pytest.approx(10.0) and found.values["missed"] == 0


def test_a_computer_that_is_too_slow_is_told_what_it_can() -> None:
    found = looked(0.15)
    assert found.level == "problem" and found.values["achieved_hz"] == pytest.approx(1 / 0.15, abs=0.3)
    assert found.values["missed"] == 6 and "lower rate_hz to 5" in found.next


def test_joints_that_fail_in_between() -> None:
    found = looked(0.02, fails=True)
    assert found.level == "problem" and "20 readings of the joints failed" in found.what
