"""Conditions of ``svm-robot record``: slow loops, and going on with another set-up, as a person types them."""

from dataclasses import replace
from pathlib import Path

import pytest

from svm_robot.data import load_dataset
from svm_robot.data.provenance import read_provenance, write_provenance
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.rollout import Outcome
from svm_robot.scripts.main import main

RIG = str(Path(__file__).parents[2] / "rigs" / "virtual_so101.yaml")


def record(root, *options):
    return main(["record", RIG, f"--dataset={root}", "--episode_s=1", "--judge", "--episodes=1", *options])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--slow_loop=ignore", "slow_loop"),
        ("--slow_rate=1.2", "slow_rate is 1.2; it is a share of rate_hz, from 0 to 1"),
        ("--slow_rate=nan", "slow_rate is nan"),
        ("--slow_gap=1", "slow_gap is 1.0 periods"),
        ("--slow_gap=nan", "slow_gap is nan"),
    ],
)
def test_conditions_that_cannot_be_are_refused(tmp_path, capsys, option, message):
    assert record(tmp_path / "d", option) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "d").exists()


@pytest.fixture
def sluggish(monkeypatch):
    """The first episode's clock runs at half speed: each step takes two periods."""
    observe, episodes = LockstepEnv.observe, []
    reset = LockstepEnv.reset

    def counted(self, seed=None):
        episodes.append(seed)
        reset(self, seed)

    def slow(self, frames=True):
        if len(episodes) == 1 and not self._fresh:
            self.world.advance(1 / self.spec.rate_hz)
        return observe(self, frames)

    monkeypatch.setattr(LockstepEnv, "reset", counted)
    monkeypatch.setattr(LockstepEnv, "observe", slow)


def test_a_slow_episode_is_told(tmp_path, capsys, sluggish):
    assert record(tmp_path / "d") == 0
    printed = capsys.readouterr()
    assert "note: episode 0: slow loop: 5.0 Hz instead of 10 Hz" in printed.err
    assert "recorded 1 of 1 episodes (1 failure)" in printed.out


def test_a_slow_episode_is_rejected_kept_and_made_again(tmp_path, capsys, sluggish):
    assert record(tmp_path / "d", "--slow_loop=reject") == 0
    printed = capsys.readouterr()
    assert "episode spoiled, aborted" in printed.out
    assert "note: episode 0 is labelled aborted and does not count: slow loop: 5.0 Hz instead" in printed.err
    assert "recorded 1 of 1 episodes (1 failure); 1 more spoiled, labelled aborted" in printed.out
    outcomes = [episode.outcome for episode in load_dataset(tmp_path / "d", frames=False).episodes]
    assert outcomes == [Outcome.ABORTED, Outcome.FAILURE]


def test_another_camera_needs_a_word(tmp_path, capsys):
    root = tmp_path / "d"
    assert record(root) == 0
    line = capsys.readouterr().out
    assert "0 ms apart, new per second: front 10.0, wrist 10.0" in line
    kept = read_provenance(root)
    assert (kept.rig.units, kept.rig.cameras["front"]) == (("deg",) * 5 + ("%",), "virtual front")
    other = replace(kept.rig, cameras={**kept.rig.cameras, "wrist": "virtual elbow"})
    write_provenance(replace(kept, rig=other), root)
    assert record(root) == 3
    told = capsys.readouterr().err
    assert "device of camera wrist virtual elbow in the dataset, virtual wrist on the rig" in told
    assert "--accept_changes" in told
    assert record(root, "--accept_changes") == 0
    assert "note: continued with another set-up: device of camera wrist" in capsys.readouterr().err
    (change,) = read_provenance(root).changes
    assert (change.episode, change.rig.cameras["wrist"]) == (1, "virtual wrist")
    assert record(root) == 0
