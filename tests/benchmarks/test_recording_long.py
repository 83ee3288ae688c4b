"""The figures of the long recording, from episodes whose times are known."""

from pathlib import Path

import numpy as np
import pytest
from recordings import record_toy


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    import recording_long

    return recording_long


def episode(ticks, **changes):
    costs = {"overhead_s": 0.03, "loop_cpu_s": 0.006, "cpu_s": 0.5, "wall_s": 1.0, "pause_s": 0.2, "rss": 3 * 2**20}
    return {"ticks": ticks, **costs, **changes}


def test_jitter_is_the_deviation_from_the_period(bench, tmp_path):
    record_toy(tmp_path / "d", "f", max_steps=12)
    even = np.arange(31) / 30
    late = even.copy()
    late[20] += 0.012
    told = bench.row("ours", [episode(list(even)), episode(list(late), pause_s=0.4)], tmp_path / "d", 1.0)
    assert told["jitter_max_ms"] == pytest.approx(12.0)
    assert told["jitter_p50_ms"] == pytest.approx(0.0, abs=1e-6)
    assert told["rate_hz"] == pytest.approx(30.0)
    assert (told["pause_p50_s"], told["pause_max_s"]) == (pytest.approx(0.3), 0.4)
    assert told["overhead_ms"] == pytest.approx(1e3 * 0.06 / 62)
    assert (told["cores"], told["MB_end"]) == (pytest.approx(0.5), pytest.approx(3.0))


def test_what_is_missing_in_the_dataset_is_counted(bench, tmp_path):
    record_toy(tmp_path / "d", "f", max_steps=12)
    told = bench.row("ours", [episode([0.0, 1 / 30])], tmp_path / "d", 1.0)
    assert told["rows_due"] == round((1.0 + bench.WARM_UP_S) * bench.RATE_HZ)
    assert told["rows_missing"] == told["rows_due"] - 12
    assert told["frames_dropped"] == 0
    next((tmp_path / "d").glob("videos/*wrist/*/*.mp4")).unlink()
    assert bench.row("ours", [episode([0.0, 1 / 30])], tmp_path / "d", 1.0)["frames_dropped"] == 12
