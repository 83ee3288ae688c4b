"""``svm-robot data delete, merge, split, stats`` as people type them, clumsy people too. A source never changes."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from recordings import record_toy
from toys import ToyEnv, ToySpec
from trees import tree_hash

from svm_robot.curation.check.examine import check_dataset
from svm_robot.data import Dataset, columns, load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.data.provenance import RigRecord, read_provenance, write_provenance
from svm_robot.recording.recorder import Recorder
from svm_robot.rollout.episode import Outcome
from svm_robot.scripts.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demos") / "demos"
    record_toy(root, "sfsfsfsf", max_steps=5)
    for episode in load_dataset(root, frames=False).episodes:
        LabelLog(root).set(episode.uid, Outcome.FAILURE if episode.index % 2 else Outcome.SUCCESS, "ada")
    return root


@pytest.fixture(autouse=True)
def the_source_stays(demos: Path):  # type: ignore[no-untyped-def]
    before = tree_hash(demos)
    yield
    assert tree_hash(demos) == before


def uids(dataset: Dataset) -> list[int]:
    return [episode.uid for episode in dataset.episodes]


def outcomes(dataset: Dataset) -> str:
    return "".join(str(episode.outcome)[0] for episode in dataset.episodes)


def data(*words: object) -> int:
    return main(["data", *map(str, words)])


def refused(capsys: Capture, *words: object) -> str:
    """The one line in which a command is refused."""
    assert data(*words) in (2, 3)
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    return said.err


def test_delete_leaves_the_others_with_their_labels(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    assert data("delete", demos, "--episodes=0,3-5", f"--out={tmp_path / 'new'}") == 0
    assert "4 episodes, 20 frames, checked" in capsys.readouterr().out
    before, after = load_dataset(demos), load_dataset(tmp_path / "new")
    assert uids(after) == [uids(before)[number] for number in (1, 2, 6, 7)] and outcomes(after) == "fssf"
    assert len(LabelLog(tmp_path / "new").history(after.episodes[0].uid)) == 2
    (step,) = read_provenance(tmp_path / "new").derived
    assert step.tool == "svm-robot data delete"
    assert [(origin.name, origin.fingerprint, origin.episodes) for origin in step.sources] == [
        ("demos", before.fingerprint, 4)
    ]


def test_delete_in_place_through_a_link(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    root = shutil.copytree(demos, tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    assert data("delete", tmp_path / "link", "--episodes=7", "--replace") == 0
    assert f"what was there before is kept as {tmp_path / 'real.before-1'}" in capsys.readouterr().out
    assert len(load_dataset(root).episodes) == 7 and (tmp_path / "link").is_symlink()
    assert tree_hash(tmp_path / "real.before-1") == tree_hash(demos)


def test_a_dry_run_says_what_happens_and_then_it_does(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    root = shutil.copytree(demos, tmp_path / "d")
    command = ["delete", root, "--episodes=1,3,5,7", "--replace"]
    assert data(*command, "--dry-run") == 0
    said = capsys.readouterr().out
    assert f"{root}: 4 episodes, 20 frames" in said and "   1  from d episode 2, 5 frames, success" in said
    assert "left out: d episode 5" in said and f"is kept as {tmp_path / 'd.before-1'}" in said
    assert said.endswith("nothing was written (--dry_run)\n")
    assert tree_hash(root) == tree_hash(demos) and [path.name for path in tmp_path.iterdir()] == ["d"]
    assert data(*command) == 0
    assert outcomes(load_dataset(root)) == "ssss"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--episodes=8", "--replace"], "there is no episode 8 in demos; it has 0 to 7"),
        (["--episodes=0-7", "--replace"], "no episode would be left"),
        (["--episodes=3-1", "--replace"], "counts backwards; write 1-3"),
        (["--episodes=all", "--replace"], "names no episodes"),
        (["--episodes=1"], "say where the result goes"),
        (["--episodes=1", "--replace", "--out=x"], "say where the result goes"),
        (["--replace"], "missing: --episodes"),
        (["--episodes=1", "--out=."], "exists already"),
    ],
)
def test_delete_refuses_what_makes_no_sense(demos: Path, capsys: Capture, options: list[str], complaint: str) -> None:
    assert complaint in refused(capsys, "delete", demos, *options)
    assert [path.name for path in demos.parent.iterdir()] == ["demos"]


def test_a_damaged_source_is_refused_by_the_episode(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    root = shutil.copytree(demos, tmp_path / "d")
    video = root / "videos/observation.images.front/chunk-000/file-003.mp4"
    video.write_bytes(video.read_bytes()[:-100])
    assert "episode 3 of d: " in refused(capsys, "delete", root, "--episodes=0", f"--out={tmp_path / 'new'}")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    assert data("delete", root, "--episodes=3", f"--out={tmp_path / 'new'}") == 0, "without it the rest is whole"


def test_split_and_merge_give_everything_back(demos: Path, tmp_path: Path) -> None:
    assert data("split", demos, "--parts=train:0.75,val:0.25", f"--out={tmp_path / 'parts'}") == 0
    train, val = (load_dataset(tmp_path / "parts" / name) for name in ("train", "val"))
    whole = load_dataset(demos)
    assert sorted(uids(train) + uids(val)) == sorted(uids(whole)) and len(val.episodes) == 2
    assert sorted(outcomes(val)) == ["f", "s"]
    parts = [tmp_path / "parts" / name for name in ("train", "val")]
    assert data("merge", *parts, f"--out={tmp_path / 'again'}") == 0
    again = load_dataset(tmp_path / "again")
    assert uids(again) == uids(train) + uids(val) and again.label_hash == whole.label_hash
    assert len(LabelLog(tmp_path / "again").entries()) == len(LabelLog(demos).entries())
    assert [step.tool for step in read_provenance(tmp_path / "again").derived] == [
        "svm-robot data split",
        "svm-robot data split",
        "svm-robot data merge",
    ]
    assert check_dataset(tmp_path / "again").ok


def test_a_split_is_the_same_every_time_and_by_hand_as_it_is_said(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    told = []
    for seed in (0, 0, 1):
        assert data("split", demos, "--parts=a:.5,b:.5", f"--out={tmp_path / 'x'}", f"--seed={seed}", "--dry_run") == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] != told[2] and list(tmp_path.iterdir()) == []
    assert data("split", demos, "--episodes=a:0-1,4,b:7", f"--out={tmp_path / 'x'}") == 0
    whole = uids(load_dataset(demos))
    assert uids(load_dataset(tmp_path / "x/a")) == [whole[0], whole[1], whole[4]]
    assert uids(load_dataset(tmp_path / "x/b")) == [whole[7]]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--parts=a:.5,b:.4"], "add up to 0.9"),
        (["--parts=a:.99,b:.01"], "8 episodes are too few: the part 'b' would be empty"),
        (["--episodes=a:0-3,b:3-5"], "episode 3 is in two parts"),
        (["--episodes=a:0-3,b:9"], "there is no episode 9"),
        ([], "give either --parts"),
        (["--parts=a:.5,b:.5", "--seed=-1"], "cannot be negative"),
    ],
)
def test_split_refuses_what_makes_no_sense(
    demos: Path, tmp_path: Path, capsys: Capture, options: list[str], complaint: str
) -> None:
    assert complaint in refused(capsys, "split", demos, *options, f"--out={tmp_path / 'x'}")
    (tmp_path / "taken").mkdir()
    assert "exists already" in refused(capsys, "split", demos, "--parts=a:.5,b:.5", f"--out={tmp_path / 'taken'}")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_split_that_fails_in_its_second_part_leaves_nothing(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    root = shutil.copytree(demos, tmp_path / "d")
    (root / "videos/observation.images.wrist/chunk-000/file-006.mp4").unlink()
    command = ["split", root, "--episodes=a:0-3,b:4-7", f"--out={tmp_path / 'x'}"]
    assert data(*command) == 3
    assert "episode 6 of d: " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def small(root: Path, spec: ToySpec, seed: int = 50) -> Path:
    record_toy(root, "s", spec, max_steps=3, seed=seed)
    return root


def test_merge_names_everything_that_differs(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    spec = ToySpec(robot_type="other", rate_hz=20.0, cameras={"front": (48, 64)}, joints=("a.pos", "c.pos"))
    other = small(tmp_path / "other", spec)
    said = refused(capsys, "merge", demos, other, f"--out={tmp_path / 'new'}")
    for text in (
        f"robot 'toy' in {demos}, 'other' in {other}",
        f"rate [Hz] 10 in {demos}, 20 in {other}",
        f"camera front: 32x32 in {demos}, 64x48 in {other}",
        f"camera wrist: only in {demos}",
        f"joints of action: ['a.pos', 'b.pos'] in {demos}, ['a.pos', 'c.pos'] in {other}",
    ):
        assert text in said
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_merge_does_not_make_noise_up(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    root, out = tmp_path / "plain", tmp_path / "new"
    env = ToyEnv()
    Recorder(root, env.spec, "reach").open()
    info = root / "meta/info.json"
    assert columns.LATENT not in json.loads(info.read_text())["features"]
    said = refused(capsys, "merge", demos, root, f"--out={out}")
    assert f"only the episodes in {demos} have the policy's noise" in said and f"for those in {root}" in said


def test_merge_refuses_other_units_and_notes_another_calibration(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    roots = [small(tmp_path / name, ToySpec(), seed) for seed, name in enumerate(("a", "b"), 80)]
    rig = RigRecord("toy", "left", ("a.pos", "b.pos"), ("deg", "%"), "aaaa", {})
    write_provenance(replace(read_provenance(roots[0]), rig=rig), roots[0])
    write_provenance(replace(read_provenance(roots[1]), rig=replace(rig, units=("rad", "%"))), roots[1])
    said = refused(capsys, "merge", *roots, f"--out={tmp_path / 'new'}")
    assert f"unit of a.pos: deg in {roots[0]}, rad in {roots[1]}" in said
    write_provenance(replace(read_provenance(roots[1]), rig=replace(rig, calibration="bbbb")), roots[1])
    assert data("merge", *roots, f"--out={tmp_path / 'new'}") == 0
    assert f"note: calibration aaaa in {roots[0]}, bbbb in {roots[1]}" in capsys.readouterr().err
    (change,) = read_provenance(tmp_path / "new").changes
    assert (change.episode, change.rig.calibration) == (1, "bbbb")


def test_merge_refuses_the_same_episode_twice_and_one_dataset(demos: Path, tmp_path: Path, capsys: Capture) -> None:
    out = f"--out={tmp_path / 'new'}"
    assert "episode 0 of demos and episode 0 of demos are the same" in refused(capsys, "merge", demos, demos, out)
    assert "got " in refused(capsys, "merge", demos, out)
    assert "missing: --out" in refused(capsys, "merge", demos, demos)
    assert list(tmp_path.iterdir()) == []


def test_stats_in_words_and_for_programs(demos: Path, capsys: Capture) -> None:
    assert data("stats", demos) == 0
    said = capsys.readouterr().out
    assert f"{demos}: 8 episodes, 40 frames" in said and "outcomes: 4 success, 4 failure" in said
    assert "camera wrist: 32x32, h264 yuv444p" in said and "delivered 10.0 Hz" in said
    assert data("stats", demos, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["frames"] == 40 and len(figures["ranges"]) == 4 and figures["constant"] == []


def test_a_subcommand_that_is_not_there_is_answered_with_the_nearest(capsys: Capture) -> None:
    assert "did you mean 'delete'?" in refused(capsys, "delte", "x")
    assert "there are: check, repair" in refused(capsys, "frobnicate")
    assert data("--help") == 0
    assert "split" in capsys.readouterr().out
