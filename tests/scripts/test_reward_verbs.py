"""``fit-reward`` and ``score`` on a recording of the toy world, the right way and the clumsy way."""

import csv
import json
import shutil
from pathlib import Path

import av
import pytest
from recordings import record_toy
from toys import ToySpec

from svm_robot.reward.checkpoint import load_reward
from svm_robot.scripts.main import main


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recordings") / "toy"
    record_toy(root, "sfsfsfsf")
    return root


@pytest.fixture(scope="module")
def reward(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rewards") / "reward"
    assert main(["fit-reward", str(recording), f"--out={out}", "--steps=30", "--action=chunk"]) == 0
    return out


def test_fit_prints_the_table_and_saves_what_it_was_fitted_on(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "reward"
    assert main(["fit-reward", str(recording), f"--out={out}", "--steps=5"]) == 0
    shown = capsys.readouterr().out
    assert "AUC, first 5 decisions" in shown
    assert "AUC of the clock alone" in shown
    assert "action: noise" in shown  # this recording has noise, so it is what the reward reads
    config = load_reward(out).config
    assert (config.dataset, config.robot_type, config.rate_hz, config.chunk) == ("toy", "toy", 10.0, 2)
    assert config.label_hash
    assert config.metrics["episodes_held_success"] == [2.0]
    assert str(tmp_path) not in (out / "config.json").read_text()


def test_figures_as_json(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit-reward", str(recording), f"--out={tmp_path / 'r'}", "--steps=2", "--action=none", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["action"] == "none"
    assert len(figures["auc_decision"]) == 3


def test_score_writes_rows_summary_and_video(
    reward: Path, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "scores"
    assert main(["score", str(reward), str(recording), f"--out={out}", "--video", "--video-episodes=2"]) == 0
    assert "flatter" in capsys.readouterr().err  # these episodes trained it
    with (out / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    summary = json.loads((out / "summary.json").read_text())
    assert summary["frames"] == len(rows)
    assert summary["episodes"]["success"] == 4
    assert summary["ms"]["p50"] > 0
    lengths = [sum(row["episode"] == str(episode) for row in rows) for episode in (0, 1)]
    with av.open(str(out / "scores.mp4")) as container:
        assert sum(1 for _ in container.decode(video=0)) == sum(lengths) + 2 * 10
    assert sorted(path.name for path in out.iterdir()) == ["scores.csv", "scores.mp4", "summary.json"]


def fitted_on(reward: Path, dataset: Path) -> bool:
    """What ``score`` says of the two."""
    assert main(["score", str(reward), str(dataset), "--overwrite"]) == 0
    summary = json.loads((dataset.with_name(f"{dataset.name}-scores") / "summary.json").read_text())
    return bool(summary["fitted_on_this_dataset"])


def test_what_a_reward_was_fitted_on_is_told_by_its_episodes_not_by_its_folder(
    reward: Path, recording: Path, tmp_path: Path
) -> None:
    renamed = shutil.copytree(recording, tmp_path / "renamed")
    assert fitted_on(reward, renamed)
    record_toy(renamed, "s", seed=50)  # the reward has still seen the others
    assert fitted_on(reward, renamed)
    record_toy(tmp_path / "toy", "sf", seed=90)
    assert not fitted_on(reward, tmp_path / "toy")


def test_nothing_is_overwritten_unless_told(reward: Path, recording: Path, tmp_path: Path) -> None:
    before = (reward / "model.safetensors").read_bytes()
    assert main(["fit-reward", str(recording), f"--out={reward}", "--steps=2"]) == 4
    assert (reward / "model.safetensors").read_bytes() == before
    out = tmp_path / "scores"
    out.mkdir()
    (out / "diary.txt").write_text("mine")
    assert main(["score", str(reward), str(recording), f"--out={out}"]) == 2
    assert main(["score", str(reward), str(recording), f"--out={out}", "--overwrite"]) == 2
    assert [path.name for path in out.iterdir()] == ["diary.txt"]


def test_score_may_replace_its_own_result(reward: Path, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores"
    assert main(["score", str(reward), str(recording), f"--out={out}"]) == 0
    assert main(["score", str(reward), str(recording), f"--out={out}", "--overwrite"]) == 0


def test_labels_that_changed_since_the_fit_are_told(
    reward: Path, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(recording, tmp_path / "relabelled")
    assert main(["label", str(copy), "--episode=0", "--set=unsure"]) == 0
    capsys.readouterr()
    assert main(["score", str(reward), str(copy), f"--out={tmp_path / 'scores'}"]) == 0
    told = capsys.readouterr().err
    assert f"note: reward {reward}: stale: 1 labels have changed since it was trained (episode 0: " in told
    assert "Fit it again with 'svm-robot fit-reward'" in told
    assert main(["label", str(copy), "undo", "--episode=0"]) == 0
    assert main(["score", str(reward), str(copy), f"--out={tmp_path / 'scores'}", "--overwrite"]) == 0
    assert "stale" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("goals", "says"),
    [
        ("sssss", "5 successes and 0 failures: .* record 4 more failures"),
        ("sfff", "1 successes and 3 failures: .* record 3 more successes and 1 more failure"),
    ],
)
def test_one_outcome_or_too_few_says_what_to_record(
    goals: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    record_toy(tmp_path / "few", goals, max_steps=4 if "f" not in goals else 12)
    if "f" not in goals:
        relabel(tmp_path / "few")
    assert main(["fit-reward", str(tmp_path / "few"), f"--out={tmp_path / 'r'}"]) == 3
    error = capsys.readouterr().err
    assert re.search(says, error)
    assert error.count("\n") == 1
    assert not (tmp_path / "r").exists()


def relabel(root: Path) -> None:
    """Call every episode a success."""
    from svm_robot.data import load_dataset
    from svm_robot.data.labels import LabelLog
    from svm_robot.rollout.episode import Outcome

    log = LabelLog(root)
    for episode in load_dataset(root, frames=False).episodes:
        log.set(episode.uid, Outcome.SUCCESS, "tester")


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["fit-reward", "DATA"], 2, "--out"),
        (["fit-reward", "DATA", "--out=OUT", "--action=torque"], 2, "torque"),
        (["fit-reward", "DATA", "--out=OUT", "--steps=0"], 2, "steps must be 1 or more"),
        (["fit-reward", "DATA", "--out=OUT", "--holdout=1.5"], 2, "between 0 and 1"),
        (["fit-reward", "NOWHERE", "--out=OUT"], 3, "NOWHERE"),
        (["fit-reward", "DATA", "--out=OUT", "--policy=NOWHERE"], 4, "no policy checkpoint"),
        (["fit-reward", "--out=OUT"], 2, "expected"),
        (["score", "DATA"], 2, "expected"),
        (["score", "NOWHERE", "DATA"], 4, "no reward checkpoint"),
        (["score", "DATA", "DATA"], 4, "config.json and model.safetensors missing"),
        (["score", "REWARD", "NOWHERE"], 3, "NOWHERE"),
        (["score", "REWARD", "DATA", "--video-episodes=0"], 2, "video_episodes"),
    ],
)
def test_wrong_use_is_one_clear_line_and_changes_nothing(
    args: list[str],
    code: int,
    says: str,
    reward: Path,
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"DATA": str(recording), "REWARD": str(reward), "OUT": str(tmp_path / "out")}
    given = [places.get(arg, arg) for arg in args]
    given = [arg.replace("=OUT", f"={tmp_path / 'out'}") for arg in given]
    assert main(given) == code
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert not recording.with_name("toy-scores").exists()


def test_another_robots_recording_is_not_scored(
    reward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_toy(tmp_path / "other", "s", ToySpec(cameras={"front": (32, 32), "top": (32, 32)}))
    assert main(["score", str(reward), str(tmp_path / "other")]) == 4
    assert "no camera wrist; unknown camera top" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_score_lands_beside_the_dataset_by_default(reward: Path, recording: Path, tmp_path: Path) -> None:
    shutil.copytree(recording, tmp_path / "copy")
    assert main(["score", str(reward), str(tmp_path / "copy")]) == 0
    assert (tmp_path / "copy-scores" / "scores.csv").is_file()
