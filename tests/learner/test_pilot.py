from pathlib import Path

import numpy as np
import pytest
import torch

from svm_robot.errors import CheckpointError
from svm_robot.learner.networks import Actor
from svm_robot.learner.pilot import ActorPilot, has_pilot, load_pilot, save_pilot

VECTOR = np.array([0.1, -0.4, 2.0], np.float32)


def actor() -> Actor:
    torch.manual_seed(5)
    return Actor(3, 2, hidden=8, bound=1.2)


def test_the_deterministic_pilot_repeats_itself_and_the_other_follows_its_seed() -> None:
    fixed, drawn = ActorPilot(actor(), False, 80), ActorPilot(actor(), True, 80)
    assert np.array_equal(fixed(VECTOR), fixed(VECTOR))
    drawn.reset(3)
    first = [drawn(VECTOR) for _ in range(3)]
    drawn.reset(3)
    assert all(np.array_equal(a, drawn(VECTOR)) for a in first)
    assert not np.array_equal(first[0], first[1])
    assert first[0].shape == (2,)
    assert first[0].dtype == np.float32


def test_saved_and_loaded_it_chooses_the_same(tmp_path: Path) -> None:
    assert not has_pilot(tmp_path)
    save_pilot(tmp_path / "p", actor(), 80)
    assert has_pilot(tmp_path / "p")
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == ["pilot.json", "pilot.safetensors"]
    again = load_pilot(tmp_path / "p")
    assert (again.actor.bound, again.horizon_steps) == (1.2, 80)
    assert np.array_equal(again(VECTOR), ActorPilot(actor(), False, 80)(VECTOR))


def test_a_missing_or_damaged_pilot_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no readable pilot"):
        load_pilot(tmp_path)
    save_pilot(tmp_path, actor(), 80)
    weights = tmp_path / "pilot.safetensors"
    weights.write_bytes(weights.read_bytes()[:20])
    with pytest.raises(CheckpointError, match="no readable pilot"):
        load_pilot(tmp_path)
    (tmp_path / "pilot.json").write_text('{"version": 99}')
    with pytest.raises(CheckpointError, match="version 99"):
        load_pilot(tmp_path)
