"""``record --takeover``: a person at the keys takes the virtual robot over in mid-episode, and the dataset says so."""

import sys
from pathlib import Path

import numpy as np
import pytest
from typist import Typist

from svm_robot.data import load_dataset
from svm_robot.scripts.main import main

RIG = """
robot:
  type: virtual_so101
  cameras: {{front: {{type: virtual, width: 32, height: 32, fps: 30}}}}
bus: {{reply_timeout_s: 0.1, deadline_s: 1.0, max_joint_age_s: 2.0}}
max_frame_age_s: 2
safety: {{watchdog_s: 5, hang_s: 30}}
episode_s: 6
task: Put the red cube into the blue disc
dataset_root: {folder}/data
"""


@pytest.mark.slow
def test_steps_of_a_person_are_marked_and_the_scripts_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text(RIG.format(folder=tmp_path))
    jog = [(0.15, b"\x1b[A")] * 6
    with Typist((2.0, b"t5"), *jog, (0.3, b"t"), begins=(tmp_path / "data").exists) as person:
        monkeypatch.setattr(sys, "stdin", person.keys)
        words = ["record", str(path), "--episodes=1", "--judge", "--takeover=keyboard", "--clumsiness=0"]
        assert main(words) == 0
    episode = load_dataset(tmp_path / "data").episodes[0]
    by_hand = np.flatnonzero(episode.intervention)
    assert 5 < len(by_hand) < 30, "some steps, not all"
    assert np.all(np.diff(by_hand) == 1) and by_hand[0] > 0 and by_hand[-1] < len(episode) - 1
    sent = episode.action
    np.testing.assert_allclose(sent[by_hand[0]], sent[by_hand[0] - 1], atol=1e-4)
    assert sent[by_hand[-1], 4] - sent[by_hand[0], 4] == pytest.approx(12, abs=2.1)
    assert np.abs(np.diff(sent[:, :5], axis=0)).max() <= 11.5 + 1e-3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--control=teleop", "--takeover=keyboard"], "a person acts already"),
        (["--takeover=leader", "--judge"], "this rig has no teleoperator"),
        (["--takeover=keyboard", "--judge"], "standard input is no terminal"),
        (["--takeover=keyboard", "--judge", "--robot.link=lockstep"], "a person needs real time"),
        (["--takeover=mouse"], "mouse"),
    ],
)
def test_wrong_use_records_nothing(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text(RIG.format(folder=tmp_path))
    assert main(["record", str(path), "--episodes=1", *words]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
