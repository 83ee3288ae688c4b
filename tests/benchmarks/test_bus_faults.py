"""The fault campaign against our bus, short: nothing wrong is taken, nothing absorbable ends a tick, the rest stops."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from bus_toys import PATIENT

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
LIBRARIES = {"FEETECH": "scservo_sdk", "DYNAMIXEL": "dynamixel_sdk"}


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("bus_faults")


@pytest.fixture(params=list(LIBRARIES))
def family(request: pytest.FixtureRequest, faults: Any) -> Any:
    if importlib.util.find_spec(LIBRARIES[request.param]) is None:
        pytest.skip(f"{LIBRARIES[request.param]} is not installed")
    return getattr(importlib.import_module("servo_chains"), request.param)


@pytest.mark.parametrize("kind", ["corrupt", "lost", "late", "short", "junk", "all five"])
def test_what_can_be_absorbed_is(faults: Any, family: Any, kind: str) -> None:
    outcome = faults.campaign(family, "ours", kind, ticks=80, share=0.05, seed=1, config=PATIENT)
    assert (outcome.wrong, outcome.failed, outcome.held) == (0, 0, 0)
    assert len(outcome.seconds) == 80


@pytest.mark.parametrize(
    ("kind", "says", "within"),
    [
        ("dead motor", "no answer from wrist_flex (id 4) on /dev/pts/", 3),
        ("overload", "gripper (id 6) on /dev/pts/", 1),
        ("unplugged", "is gone", 1),
    ],
)
def test_the_rest_stops_and_says_where(faults: Any, family: Any, kind: str, says: str, within: int) -> None:
    outcome = faults.campaign(family, "ours", kind, ticks=20, share=0.0, seed=1, config=PATIENT)
    assert outcome.wrong == 0
    assert outcome.stopped_after <= within
    assert says in outcome.message
    assert "/dev/pts/" in outcome.message


def test_the_campaign_sees_a_bus_that_takes_old_replies(faults: Any) -> None:
    """Against LeRobot's bus: a reply that is 60 ms late is taken for one of a later tick."""
    family = importlib.import_module("servo_chains").FEETECH
    outcome = faults.campaign(family, "LeRobot", "late", ticks=60, share=0.1, seed=1)
    assert outcome.wrong + outcome.failed > 0
    row = faults.row(family, "LeRobot", "late", 60, outcome)
    assert row["wrong values"] == outcome.wrong
