"""A dataset built from another: the same numbers, pixels, labels; LeRobot opens it; a fault touches nothing."""

import fcntl
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lerobot_reading import write_with_lerobot
from recordings import record_toy
from toys import ToySpec
from trees import tree_hash

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.rebuild import place
from svm_robot.curation.rebuild.place import aside, nobody_else
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.curation.rebuild.source import Source, open_source
from svm_robot.data import columns, load_dataset
from svm_robot.data.files import file_digest
from svm_robot.data.labels import LabelLog
from svm_robot.data.layout import DIGEST, read_layout
from svm_robot.data.provenance import Provenance
from svm_robot.errors import DataError
from svm_robot.recording.commit import TASK
from svm_robot.recording.recovery import LOCK
from svm_robot.rollout.episode import Outcome

BOOKKEEPING = ("index", "episode_index", "task_index")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ours") / "demos"
    record_toy(root, "sfsf", max_steps=8)
    return root


@pytest.fixture(scope="module", params=["video", "image"])
def theirs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By LeRobot's own writer: all episodes in the same files."""
    root = tmp_path_factory.mktemp("theirs") / "stack"
    write_with_lerobot(root, request.param)
    return root


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of them, where pictures do not matter."""
    root = tmp_path_factory.mktemp("stack") / "stack"
    write_with_lerobot(root, "image", length=3)
    return root


def build(source: Source, numbers: list[int], target: Path, **how: Any) -> Path:
    rebuild(target, source.info, [source.episodes[n] for n in numbers], source.labels, source.provenance, **how)
    return target


def items(root: Path) -> list[list[dict[str, Any]]]:
    """What LeRobot gives for every row, episode by episode."""
    from lerobot.datasets import LeRobotDataset

    dataset = LeRobotDataset("local/x", root=root, video_backend="pyav")
    episodes: list[list[dict[str, Any]]] = [[] for _ in range(dataset.num_episodes)]
    for number in range(len(dataset)):
        item = {key: np.asarray(value) for key, value in dataset[number].items()}
        episodes[int(item["episode_index"])].append(item)
    return episodes


def assert_same(made: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert len(made) == len(wanted)
    for one, other in zip(made, wanted, strict=True):
        for key in set(other) - set(BOOKKEEPING):
            assert one[key].dtype == other[key].dtype and np.array_equal(one[key], other[key]), key


def test_episodes_of_lerobot_s_own_files_come_out_pixel_for_pixel(theirs: Path, tmp_path: Path) -> None:
    before = tree_hash(theirs)
    source = open_source(theirs)
    root = build(source, [2, 0], tmp_path / "new")
    made, wanted = items(root), items(theirs)
    assert_same(made[0], wanted[2])
    assert_same(made[1], wanted[0])
    assert check_dataset(root, deep=True).ok
    assert tree_hash(theirs) == before
    assert len(list(root.glob("data/*/*.parquet"))) == len(list(root.glob("meta/episodes/*/*.parquet"))) == 2


def test_an_episode_without_a_uid_gets_one_that_stays(stack: Path, tmp_path: Path) -> None:
    source = open_source(stack)
    uids = [episode.uid for episode in source.episodes]
    assert len(set(uids)) == 3 and all(0 <= uid < 2**62 for uid in uids)
    assert [episode.uid for episode in open_source(stack).episodes] == uids
    root = build(source, [1, 2], tmp_path / "new")
    assert [episode.uid for episode in open_source(root).episodes] == uids[1:]
    assert [row["svm/episode_uid"] for row in read_layout(root).episodes] == uids[1:]


def test_labels_on_the_numbers_of_a_foreign_dataset_find_their_episodes(stack: Path, tmp_path: Path) -> None:
    root = shutil.copytree(stack, tmp_path / "labelled")
    LabelLog(root).set(2, Outcome.SUCCESS, "ada")
    LabelLog(root).set(0, Outcome.FAILURE, "ada")
    made = load_dataset(build(open_source(root), [1, 2], tmp_path / "new"))
    assert [episode.outcome for episode in made.episodes] == [None, Outcome.SUCCESS]


def test_our_own_episodes_keep_everything(ours: Path, tmp_path: Path) -> None:
    LabelLog(ours).append(open_source(ours).episodes[2].uid, Outcome.UNSURE, "ada", "blurred")
    root = build(open_source(ours), [3, 2], tmp_path / "new")
    before, after = load_dataset(ours), load_dataset(root)
    for made, wanted in zip(after.episodes, [before.episodes[3], before.episodes[2]], strict=True):
        assert (made.uid, made.outcome, made.task) == (wanted.uid, wanted.outcome, wanted.task)
        assert np.array_equal(made.state, wanted.state) and np.array_equal(made.latent, wanted.latent)
        assert all(np.array_equal(made.frames[role], wanted.frames[role]) for role in wanted.frames)
    uid = after.episodes[1].uid
    assert [label.by for label in LabelLog(root).history(uid)] == ["judge", "ada"]
    assert {label.episode_uid for label in LabelLog(root).entries()} == {episode.uid for episode in after.episodes}
    old, new = read_layout(ours).episodes[3], read_layout(root).episodes[0]
    kept = {key for key in old if key.startswith("svm/")} - {DIGEST + "data"}  # rows are numbered anew
    assert {key: new[key] for key in kept} == {key: old[key] for key in kept} and len(kept) > 6


def test_every_file_has_its_digest_and_one_changed_byte_stops_a_rebuild(ours: Path, tmp_path: Path) -> None:
    root = build(open_source(ours), [1], tmp_path / "new")
    layout = read_layout(root)
    row = layout.episodes[0]
    assert row[DIGEST + "data"] == file_digest(layout.data_file(row))
    video = layout.video_file(row, "observation.images.front")
    assert row[DIGEST + "observation.images.front"] == file_digest(video)
    bent = bytearray(video.read_bytes())
    bent[-20] ^= 1
    video.write_bytes(bent)
    with pytest.raises(DataError, match=r"episode 0 of new: .*file-000.mp4 is not what was saved"):
        build(open_source(root), [0], tmp_path / "again")
    assert not (tmp_path / "again").exists() and not list(tmp_path.glob(".*"))


def test_a_number_that_changed_since_it_was_saved_stops_a_rebuild(ours: Path, tmp_path: Path) -> None:
    root = shutil.copytree(ours, tmp_path / "demos")
    file = root / "data/chunk-000/file-001.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index(columns.CLIPPED)
    flipped = pa.array([not value for value in table[columns.CLIPPED].to_pylist()])
    pq.write_table(table.set_column(place, columns.CLIPPED, flipped), file)
    with pytest.raises(DataError, match=r"episode 1 of demos: .*file-001.parquet is not what was saved"):
        build(open_source(root), [0, 1], tmp_path / "new")
    build(open_source(root), [0, 2], tmp_path / "new")


@pytest.mark.parametrize("kept", [[0], [1, 3]])
def test_recording_goes_on_after_a_rebuild_and_lerobot_still_opens_it(
    ours: Path, tmp_path: Path, kept: list[int]
) -> None:
    root = build(open_source(ours), kept, tmp_path / "new")
    assert record_toy(root, "s", max_steps=4).summary.episode == len(kept)
    assert check_dataset(root).ok and len(items(root)) == len(kept) + 1


def test_an_episode_with_two_tasks_keeps_both(ours: Path, tmp_path: Path) -> None:
    source = open_source(ours)
    episode = source.episodes[0]
    sentences = ["reach"] * (episode.length - 2) + ["let go"] * 2
    two = replace(episode, table=lambda: {**episode.table(), TASK: pa.array(sentences)})
    root = build(replace(source, episodes=[source.episodes[1], two]), [0, 1], tmp_path / "new")
    assert read_layout(root).episodes[1]["tasks"] == ["reach", "let go"]
    again = build(open_source(root), [1], tmp_path / "again")
    assert [str(item["task"]) for item in items(again)[0]] == sentences


def test_metadata_that_only_some_episodes_have_is_filled_for_all(ours: Path, tmp_path: Path) -> None:
    source = open_source(ours)
    noted = replace(source.episodes[1], extras={**source.episodes[1].extras, "room": "B2", "lux": 3.5, "try": 4})
    root = build(replace(source, episodes=[source.episodes[0], noted]), [0, 1], tmp_path / "new")
    first, second = read_layout(root).episodes
    assert (first["room"], first["try"]) == ("", -1) and np.isnan(first["lux"])
    assert (second["room"], second["lux"], second["try"]) == ("B2", 3.5, 4)
    assert len(items(root)) == 2


def test_baked_labels_stand_where_lerobot_looks(ours: Path, stack: Path, tmp_path: Path) -> None:
    source = open_source(ours)
    log = LabelLog(shutil.copytree(ours, tmp_path / "copy"))
    log.set(source.episodes[0].uid, Outcome.FAILURE, "ada")
    log.set(source.episodes[1].uid, Outcome.SUCCESS, "ada")
    root = build(open_source(log.root), [0, 1], tmp_path / "baked", bake_labels=True)
    ends = [episode[-1] for episode in items(root)]
    assert [bool(end[columns.SUCCESS]) for end in ends] == [False, True]
    assert [float(end[columns.REWARD]) for end in ends] == [0.0, 1.0]
    assert [row["svm/outcome"] for row in read_layout(root).episodes] == ["failure", "success"]
    theirs_baked = items(build(open_source(stack), [0], tmp_path / "theirs", bake_labels=True))[0]
    assert [bool(item[columns.DONE]) for item in theirs_baked] == [False, False, True]
    assert not any(item[columns.SUCCESS] for item in theirs_baked)


def test_pictures_that_must_be_encoded_are_encoded(ours: Path, tmp_path: Path) -> None:
    source = open_source(ours)
    wanted = load_dataset(ours).episodes[0].frames
    plain = replace(
        source.episodes[0], clips={}, frames={columns.IMAGES + role: wanted[role].__iter__ for role in wanted}
    )
    made = rebuild(tmp_path / "new", source.info, [plain], [], Provenance())
    assert len(made.encoded) == 2
    frames = load_dataset(made.root).episodes[0].frames
    assert all(np.abs(frames[role].astype(int) - wanted[role]).max() <= 2 for role in wanted)
    with pytest.raises(DataError, match=r"no pictures of observation\.images\.front"):
        rebuild(tmp_path / "bare", source.info, [replace(plain, frames={})], [], Provenance())


def test_numbers_that_are_not_finite_do_not_get_in(ours: Path, tmp_path: Path) -> None:
    source = open_source(ours)
    table = {key: np.array(values) for key, values in source.episodes[2].table().items()}
    table[columns.ACTION][3, 1] = np.nan
    bad = replace(source.episodes[2], table=lambda: table)
    with pytest.raises(DataError, match=r"episode 2 of demos: action is nan in frame 3; a dataset holds finite"):
        build(replace(source, episodes=[source.episodes[0], bad]), [0, 1], tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_nothing_and_twice_the_same_are_refused(ours: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no episode would be left"):
        build(open_source(ours), [], tmp_path / "new")
    with pytest.raises(DataError, match="episode 1 of demos and episode 1 of demos are the same recording"):
        build(open_source(ours), [1, 1], tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_taken_is_refused(ours: Path, tmp_path: Path) -> None:
    source, before = open_source(ours), tree_hash(ours)
    (tmp_path / "file").write_text("mine")
    for target, complaint in (
        (ours, "exists already"),
        (tmp_path / "file", "exists already"),
        (tmp_path / "file" / "below", "no folder that may be written"),
        (ours / "inside", "lies inside the dataset"),
    ):
        with pytest.raises(DataError, match=complaint):
            build(source, [0], target)
    with pytest.raises(DataError, match="is no dataset, so it is not replaced"):
        build(source, [0], tmp_path, replace=True)
    assert tree_hash(ours) == before and [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_builders_of_one_dataset_are_kept_apart_and_a_dead_one_is_swept_away(ours: Path, tmp_path: Path) -> None:
    source = open_source(ours)
    with aside(tmp_path / "new"), pytest.raises(DataError, match="another program is building"):
        build(source, [0], tmp_path / "new")
    (tmp_path / ".new.rebuild/meta").mkdir(parents=True)
    (tmp_path / ".new.rebuild/meta/info.json").write_text("half")
    build(source, [0], tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_replacing_keeps_the_old_dataset_beside_it(ours: Path, tmp_path: Path) -> None:
    root = shutil.copytree(ours, tmp_path / "demos")
    before = tree_hash(root)
    source = open_source(root)
    made = rebuild(root, source.info, source.episodes[1:], source.labels, source.provenance, replace=True)
    assert made.backup == tmp_path / "demos.before-1" and tree_hash(made.backup) == before
    build(open_source(root), [0, 1], root, replace=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demos", "demos.before-1", "demos.before-2"]
    assert len(load_dataset(root).episodes) == 2


def test_without_an_exchange_of_names_replacing_works_all_the_same(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(ours, tmp_path / "demos")
    monkeypatch.setattr(place, "exchange", lambda *_: False)
    build(open_source(root), [0], root, replace=True)
    assert len(load_dataset(root).episodes) == 1 and len(load_dataset(tmp_path / "demos.before-1").episodes) == 4
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("recorded_into_before", [True, False])
def test_nobody_records_or_labels_while_a_dataset_is_replaced(
    ours: Path, tmp_path: Path, recorded_into_before: bool
) -> None:
    root = shutil.copytree(ours, tmp_path / "demos")
    if not recorded_into_before:  # made by an import, say
        (root / LOCK).unlink()
    with nobody_else(root):
        with pytest.raises(DataError, match="another program is recording"):
            record_toy(root, "s")
        probe = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        done = subprocess.run([sys.executable, "-c", probe, root / "labels.jsonl"], capture_output=True, check=False)
        assert b"BlockingIOError" in done.stderr
    assert (root / LOCK).exists() == recorded_into_before
    with (root / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another program is recording"), nobody_else(root):
            pass


KILLED = """
import os, signal, sys
from pathlib import Path
from svm_robot.curation.rebuild import edit, place, rebuild

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

saves, exchange = rebuild.Commit.save, place.exchange
def third(self, *args):
    return die() if self.episodes == 2 else saves(self, *args)

def swapped(*names):
    exchange(*names)
    die()

for moment, folder in enumerate(sys.argv[1:]):
    child = os.fork()
    if child == 0:
        rebuild.Commit.save = third if moment == 0 else saves
        rebuild.put_in_place = die if moment == 1 else rebuild.put_in_place
        place.exchange = {2: die, 3: swapped}.get(moment, exchange)
        edit.plan_delete(Path(folder), [0], None, lambda: 0.0).carry_out()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, moment
"""


def test_a_kill_leaves_the_old_dataset_or_the_whole_new_one(ours: Path, tmp_path: Path) -> None:
    """In the third episode; before the new one gets any name; before the two change names; just after."""
    roots = [shutil.copytree(ours, tmp_path / f"{moment}" / "demos") for moment in range(4)]
    subprocess.run([sys.executable, "-c", KILLED, *map(str, roots)], check=True)
    for moment, root in enumerate(roots):
        assert check_dataset(root).ok
        assert len(load_dataset(root).episodes) == (3 if moment == 3 else 4)
        assert tree_hash(root.with_name("demos.before-1") if moment == 3 else root) == tree_hash(ours)
        build(open_source(root), [0, 1], root, replace=True)
        assert len(load_dataset(root).episodes) == 2 and not list(root.parent.glob(".*"))


FULL = """
import json, resource, sys
from svm_robot.scripts.main import main

root, out, *limits = sys.argv[1:]
told = []
for how in ("--replace", f"--out={out}"):
    for limit in map(int, limits):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        told.append(main(["data", "delete", root, "--episodes=0", how]))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(json.dumps(told))
"""


def test_a_full_disk_at_any_file_changes_nothing(ours: Path, tmp_path: Path) -> None:
    root = shutil.copytree(ours, tmp_path / "demos")
    sizes = sorted({path.stat().st_size for path in root.rglob("*") if path.suffix in (".mp4", ".parquet", ".json")})
    limits = [str(max(1, size - 1)) for size in sizes[-3:]] + ["100"]
    command = [sys.executable, "-c", FULL, str(root), str(tmp_path / "new"), *limits]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [3] * 8, done.stderr
    assert done.stderr.count("nothing was changed") == 8 == done.stderr.count("\n")
    assert tree_hash(root) == tree_hash(ours) and [path.name for path in tmp_path.iterdir()] == ["demos"]


def test_a_dataset_without_cameras_works_too(tmp_path: Path) -> None:
    record_toy(tmp_path / "blind", "sf", ToySpec(cameras={}), max_steps=4)
    root = build(open_source(tmp_path / "blind"), [1], tmp_path / "new")
    assert len(items(root)[0]) == 4 and check_dataset(root).ok
