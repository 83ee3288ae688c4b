"""``svm-robot record`` and ``svm-robot label`` on the virtual robot in lockstep, as a person types them."""

from pathlib import Path

import pytest

from svm_robot.data import load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.rollout import Outcome
from svm_robot.scripts.main import main

RIG = str(Path(__file__).parents[2] / "rigs" / "virtual_so101.yaml")
SHORT = ["--episode_s=1", "--judge"]


def record(root, *options):
    return main(["record", RIG, f"--dataset={root}", *SHORT, *options])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    path = tmp_path_factory.mktemp("verb") / "d"
    assert record(path, "--episodes=2") == 0
    return path


def test_recorded_episodes_are_there_and_labelled(root, capsys):
    dataset = load_dataset(root)
    assert [len(episode) for episode in dataset.episodes] == [10, 10]
    assert dataset.robot_type == "virtual_so101"
    assert dataset.episodes[0].frames["front"].shape == (10, 64, 64, 3)
    assert [label.by for label in LabelLog(root).entries()] == ["judge"] * 2
    capsys.readouterr()
    assert record(root, "--episodes=1") == 0
    printed = capsys.readouterr().out
    assert "episode 1/1 failure" in printed
    assert "10 steps at 10.0 Hz" in printed
    assert "frames up to 0 ms old" in printed
    assert "recorded 1 of 1 episodes (1 failure)" in printed
    assert len(load_dataset(root, frames=False).episodes) == 3


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--episodes=0"], 2, "episodes is 0"),
        (["--dataset="], 2, "dataset is empty"),
        (["--control=ghost"], 2, "control"),
        (["--control=policy"], 2, "--policy=PATH belong together"),
        (["--policy=somewhere"], 2, "--policy=PATH belong together"),
        (["--control=policy", "--policy=nowhere"], 4, "no policy checkpoint at nowhere"),
        (["--reward=nowhere"], 4, "nowhere"),
        (["--control=teleop"], 2, "teleop"),
        (["--episodez=3"], 2, "episodes"),
        (["--pictures=png"], 3, "keeps its pictures as video, --pictures=png asks for another kind"),
        (["--pictures=gif"], 2, "choose from 'video', 'png', 'jpeg'"),
        (["--jpeg_quality=0"], 2, "jpeg_quality is 0; it goes from 1 to 100"),
        (["--keep_free_mb=-1"], 2, "keep_free_mb is -1; it must be 0 or more"),
        (["--keep_free_mb=900000000"], 1, "no room for an episode"),
        (
            ["--rate_hz=20", "--robot.cameras={front: {type: virtual, width: 32, height: 32, fps: 20}}"],
            3,
            "camera front: 64x64 in the dataset, 32x32 on the rig",
        ),
    ],
)
def test_wrong_input_is_one_line_and_changes_nothing(root, capsys, options, code, message):
    capsys.readouterr()
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    assert record(root, *options) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()} == before


def test_without_a_terminal_and_a_judge_it_says_so(tmp_path, capsys, monkeypatch):
    with Path("/dev/null").open() as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        assert main(["record", RIG, f"--dataset={tmp_path / 'd'}", "--episodes=1"]) == 2
    assert "--judge" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_ctrl_c_keeps_the_episode_in_progress(tmp_path, capsys, monkeypatch):
    from svm_robot.drivers.virtual.judge import Judge

    polls = []

    def pressed(self, step):
        polls.append(step)
        if len(polls) == 14:
            raise KeyboardInterrupt

    monkeypatch.setattr(Judge, "poll", pressed)
    assert record(tmp_path / "d", "--episodes=5") == 130
    told = capsys.readouterr().out
    assert "episode in progress saved as aborted: number 1, 4 steps" in told
    assert "before that, recorded 1 of 5 episodes (1 failure)" in told
    episodes = load_dataset(tmp_path / "d").episodes
    assert [(len(episode), episode.outcome) for episode in episodes] == [
        (10, Outcome.FAILURE),
        (4, Outcome.ABORTED),
    ]


def test_labels_are_listed_changed_and_have_a_history(root, capsys):
    capsys.readouterr()
    assert main(["label", str(root)]) == 0
    listed = capsys.readouterr().out
    assert "failure" in listed
    assert "by judge" in listed
    assert main(["label", str(root), "--episode=1", "--set=unsure", "--reason=behind the arm", "--by=ada"]) == 0
    assert capsys.readouterr().out == "episode 1: failure -> unsure\n"
    assert main(["label", str(root), "history", "--episode=1"]) == 0
    history = capsys.readouterr().out.splitlines()
    assert len(history) == 2
    assert "by ada" in history[1]
    assert history[1].endswith("(behind the arm)")
    assert load_dataset(root, frames=False).episodes[1].outcome is Outcome.UNSURE


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--episode=9", "--set=failure"], 3, "there is no episode 9; the dataset has 0 to"),
        (["--episode=-1", "--set=failure"], 3, "there is no episode -1"),
        (["--episode=0", "--set=great"], 2, "the labels are success, failure, unsure, aborted"),
        (["--episode=0"], 2, "belong together"),
        (["--set=failure"], 2, "belong together"),
        (["history", "--episode=9"], 3, "there is no episode 9"),
        (["--reason=why"], 2, "belong to a new label"),
        (["history", "--episode=0", "--by=ada"], 2, "--by means nothing with 'history'"),
        (["undo", "--episode=0", "--set=failure"], 2, "--set means nothing with 'undo', but with --set"),
    ],
)
def test_wrong_labels_are_refused(root, capsys, options, code, message):
    capsys.readouterr()
    before = (root / "labels.jsonl").read_bytes()
    assert main(["label", str(root), *options]) == code
    assert message in capsys.readouterr().err
    assert (root / "labels.jsonl").read_bytes() == before


def test_a_folder_that_is_no_dataset(tmp_path, capsys):
    assert main(["label", str(tmp_path)]) == 3
    assert "is not a LeRobot dataset" in capsys.readouterr().err


@pytest.mark.parametrize("pictures", ["png", "jpeg"])
def test_single_pictures_instead_of_a_video(tmp_path, capsys, pictures):
    assert record(tmp_path / "d", "--episodes=1", f"--pictures={pictures}") == 0
    assert "waited" not in capsys.readouterr().out, "told only where it happened"
    assert not list((tmp_path / "d").rglob("*.mp4"))
    assert load_dataset(tmp_path / "d").episodes[0].frames["wrist"].shape == (10, 64, 64, 3)


def test_waits_are_told(tmp_path):
    from dataclasses import replace

    from recordings import record_toy

    from svm_robot.recording.worker import Waits
    from svm_robot.scripts.record_console import words

    calm = record_toy(tmp_path / "d", "s").summary
    assert calm is not None
    assert "waited" not in words(replace(calm, waits=Waits()))
    assert "waited 3 times for pictures, 0.50 s in all (longest 0.25 s)" in words(
        replace(calm, waits=Waits(3, 0.5, 0.25))
    )
