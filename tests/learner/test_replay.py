from pathlib import Path
from typing import Any

import pytest
import torch

from svm_robot.errors import CheckpointError, DataError
from svm_robot.learner.decisions import DecisionEpisode, read_episode, write_episode
from svm_robot.learner.replay import Replay
from svm_robot.rollout import Outcome


def episode(base: float, decisions: int = 3, outcome: str = "success", **settings: Any) -> DecisionEpisode:
    """Vectors count base, base + 1, ...; noise and reward inputs are the same numbers, negated and doubled."""
    rows = torch.arange(decisions + 1, dtype=torch.float32)[:, None] + base
    values: dict[str, Any] = {
        "vectors": rows.repeat(1, 2),
        "latents": -rows[:-1],
        "inputs": 2 * rows[:-1],
        "step_index": torch.arange(decisions + 1) * 4,
        "outcome": Outcome(outcome),
        "terminated": outcome == "success",
    }
    return DecisionEpisode(**values | settings)


def filled(*episodes: DecisionEpisode, capacity: int = 64) -> Replay:
    replay = Replay(2, 1, 1, capacity)
    for one in episodes:
        replay.add(one)
    return replay


def test_next_is_always_of_the_same_episode_and_only_success_ends() -> None:
    replay = filled(episode(0), episode(100, outcome="failure"))
    assert len(replay) == 6
    sample = replay.at(replay.sample_rows(400, torch.Generator().manual_seed(0)))
    assert torch.equal(sample.next_vector, sample.vector + 1)
    last = {float(v) for v in sample.vector[sample.terminal][:, 0]}
    assert last == {2.0}
    assert set(sample.vector[:, 0].tolist()) == {0.0, 1.0, 2.0, 100.0, 101.0, 102.0}
    assert torch.equal(sample.latent[:, 0], -sample.vector[:, 0])
    assert torch.equal(sample.episode, (sample.vector[:, 0] >= 100).long())


def test_next_inputs_repeat_the_last_ones() -> None:
    sample = filled(episode(0)).at(torch.tensor([0, 1, 2]))
    assert sample.next_inputs[:, 0].tolist() == [2.0, 4.0, 4.0]


def test_aborted_and_unsure_train_nothing() -> None:
    replay = filled()
    assert not replay.add(episode(0, outcome="aborted"))
    assert not replay.add(episode(0, outcome="unsure"))
    assert len(replay) == 0
    with pytest.raises(DataError, match="empty"):
        replay.sample_rows(4, torch.Generator())


def test_both_sides_are_views_by_outcome() -> None:
    replay = filled(episode(0), episode(100, outcome="failure"), episode(10, 1))
    assert replay.inputs_of(Outcome.SUCCESS)[:, 0].tolist() == [0.0, 2.0, 4.0, 20.0]
    assert replay.inputs_of(Outcome.FAILURE)[:, 0].tolist() == [200.0, 202.0, 204.0]
    assert (replay.count(Outcome.SUCCESS), replay.count(Outcome.FAILURE)) == (2, 1)


def test_room_grows_and_nothing_moves() -> None:
    replay = filled(*(episode(10 * k) for k in range(20)), capacity=4)
    sample = replay.at(replay.sample_rows(500, torch.Generator().manual_seed(1)))
    assert torch.equal(sample.next_vector, sample.vector + 1)
    assert len(set(sample.vector[:, 0].tolist())) == 60


def test_a_share_of_every_batch_may_be_offline() -> None:
    replay = filled(episode(0, offline=True), episode(100))
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        vectors = replay.at(replay.sample_rows(10, generator, offline_share=0.3)).vector
        assert int((vectors[:, 0] < 50).sum()) == 3
    only_old = filled(episode(0, offline=True))
    assert len(only_old.sample_rows(10, generator, offline_share=0.3)) == 10


def test_wrong_rows_are_refused_and_nothing_is_kept() -> None:
    replay = filled(episode(0))
    with pytest.raises(DataError, match="not finite"):
        replay.add(episode(float("nan")))
    with pytest.raises(DataError, match="latent of 1 numbers"):
        replay.add(episode(0, latents=torch.zeros(3, 5)))
    with pytest.raises(DataError, match="needs 4 vectors"):
        episode(0, vectors=torch.zeros(3, 2))
    assert len(replay) == 3


def test_survives_save_and_load(tmp_path: Path) -> None:
    first = episode(7, outcome="failure", offline=True)
    write_episode(tmp_path / "r" / "0.safetensors", first)
    second = read_episode(tmp_path / "r" / "0.safetensors")
    for name in ("vectors", "latents", "inputs", "step_index"):
        assert torch.equal(getattr(first, name), getattr(second, name))
    assert (second.outcome, second.terminated, second.offline) == (Outcome.FAILURE, False, True)
    assert [p.name for p in (tmp_path / "r").iterdir()] == ["0.safetensors"]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "0.safetensors"
    with pytest.raises(CheckpointError, match=r"0\.safetensors"):
        read_episode(path)
    write_episode(path, episode(0))
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(CheckpointError, match=r"0\.safetensors"):
        read_episode(path)
