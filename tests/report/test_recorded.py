"""Pictures from a dataset, where the runs kept none."""

from pathlib import Path

import numpy as np
import pytest
from recordings import record_toy

from svm_robot.data.dataset import load_dataset
from svm_robot.errors import DataError
from svm_robot.report.page import choose_examples
from svm_robot.report.recorded import recorded_examples


def test_first_success_and_first_failure_with_their_own_pictures(tmp_path: Path) -> None:
    record_toy(tmp_path / "set", "ffsfs")
    found = recorded_examples(tmp_path / "set")
    assert [(e.outcome.value, e.episode) for e in found] == [("success", 2), ("failure", 0)]
    episodes = load_dataset(tmp_path / "set").episodes
    for example in found:
        assert not example.scored
        assert example.frame_step[-1] == example.steps - 1
        for role, pictures in example.frames.items():
            assert np.array_equal(pictures, episodes[example.episode].frames[role][example.frame_step])
    assert choose_examples(found) == found


def test_one_outcome_only(tmp_path: Path) -> None:
    record_toy(tmp_path / "set", "ss")
    assert [e.outcome.value for e in recorded_examples(tmp_path / "set")] == ["success"]


def test_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        recorded_examples(tmp_path)
