"""The table that benchmarks print."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

TABLE: dict[str, Any] = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "table.py"))
ROWS = [
    {"what": "ours", "per_s": 1234.6, "ratio": 2.0312, "steps": 5},
    {"what": "theirs, longer", "per_s": None, "ratio": 0.00123, "steps": 1200},
]


def test_columns_line_up() -> None:
    assert TABLE["table"](ROWS).splitlines() == [
        "what            per_s    ratio  steps",
        "ours             1235     2.03      5",
        "theirs, longer      -  0.00123   1200",
    ]


def test_json_is_the_same_rows(capsys: pytest.CaptureFixture[str]) -> None:
    TABLE["show"](ROWS, as_json=True)
    assert json.loads(capsys.readouterr().out) == ROWS


def test_no_rows() -> None:
    assert TABLE["table"]([]) == "(no rows)"
