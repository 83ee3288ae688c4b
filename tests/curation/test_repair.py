"""``data repair``: every whole episode is kept with its labels, nothing is deleted, and twice is once."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from damages import DAMAGES, data_files, edit_info, encode_again, nan_at, rewrite, video_files, with_column
from lerobot_reading import lerobot_reads, write_with_lerobot
from recordings import record_toy
from trees import tree_hash

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.mend.repair import plan_repair, repair
from svm_robot.data import load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.errors import DataError

CASES = [(damage.only[(number + 1) % len(damage.only)], damage) for number, damage in enumerate(DAMAGES)]

HOPELESS = {
    *("info missing", "info torn", "info is a list", "info is no text", "info is a folder", "info nested too deep"),
    *("version 2.1", "a fork's version", "no version", "a future version", "no rate", "rate is text"),
    *("unknown type of column", "another width of column", "another kind of column", "features gone"),
    *("template without a number", "no video path", "tasks missing", "tasks torn", "video folder gone"),
}
"""Nothing is whole then, or nobody knows what there should be."""


def clock() -> float:
    return 0.0


def mend(root: Path):
    return repair(plan_repair(root), clock)


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One dataset of each kind, three episodes of five frames."""
    roots = {kind: tmp_path_factory.mktemp("whole") / kind for kind in ("own", "video", "image")}
    record_toy(roots["own"], "fff", max_steps=5)
    write_with_lerobot(roots["video"], "video")
    write_with_lerobot(roots["image"], "image")
    return roots


def actions(root: Path) -> list[bytes]:
    """What tells the episodes of a dataset apart."""
    return [episode.action.tobytes() for episode in load_dataset(root, frames=False).episodes]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "damage"), CASES, ids=[f"{kind}-{damage.name}" for kind, damage in CASES])
def test_what_is_whole_is_kept_and_the_second_run_changes_nothing(whole, tmp_path, kind, damage):
    root = shutil.copytree(whole[kind], tmp_path / "d")
    before = actions(root)
    damage.apply(root)
    spoilt = tree_hash(tmp_path)
    verified = check_dataset(root).verified
    try:
        done = mend(root)
    except DataError:
        assert tree_hash(tmp_path) == spoilt, "refused, but something changed"
        assert damage.name in HOPELESS or not verified
        return
    assert damage.name not in HOPELESS
    assert set(done.plan.kept) >= set(verified)
    assert check_dataset(root, deep=True).ok
    assert actions(root) == [before[index] for index in done.plan.kept]
    mended = tree_hash(tmp_path)
    assert mend(root).plan.way == "nothing"
    assert tree_hash(tmp_path) == mended


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["video cut", "first rows gone", "metadata with a column more"])
def test_lerobot_reads_what_was_mended(whole, tmp_path, name):
    damage = next(damage for damage in DAMAGES if damage.name == name)
    root = shutil.copytree(whole["video"], tmp_path / "d")
    damage.apply(root)
    assert lerobot_reads(root)
    mend(root)
    assert not lerobot_reads(root)


@pytest.fixture
def five(tmp_path):
    """Five episodes, labelled s f s f s, of different length."""
    root = tmp_path / "d"
    record_toy(root, "sfsfs", max_steps=7)
    return root


def labels(root: Path) -> list[str]:
    said = LabelLog(root).current()
    return [str(said[episode.uid].outcome) for episode in load_dataset(root, frames=False).episodes]


def test_labels_stay_with_their_episodes_and_the_next_recording_goes_on(five):
    LabelLog(five).set(load_dataset(five, frames=False).episodes[3].uid, "unsure", "me", "looked again")
    uids = [episode.uid for episode in load_dataset(five, frames=False).episodes]
    video_files(five)[1].unlink()
    done = mend(five)
    assert (done.plan.way, done.plan.kept, done.backup.name) == ("rebuild", (0, 2, 3, 4), "d.before-1")
    assert [episode.uid for episode in load_dataset(five, frames=False).episodes] == [uids[n] for n in (0, 2, 3, 4)]
    assert labels(five) == ["success", "success", "unsure", "success"]
    assert len(LabelLog(five).history(uids[3])) == 2, "the history travels too"
    assert record_toy(five, "f", max_steps=7).summary.episode == 4
    assert check_dataset(five).ok


def test_nothing_is_deleted(five):
    before = contents(five)
    cut_off = data_files(five)[-1]
    cut_off.write_bytes(cut_off.read_bytes()[:50])
    torn = contents(five)
    done = mend(five)
    assert (done.plan.way, done.plan.kept) == ("tidy", (0, 1, 2, 3))
    lost = torn - contents(five)
    assert set(lost) <= {b for b in before if b.startswith(b"{")}, "only counters and statistics were replaced"
    assert (five / "set_aside" / cut_off.relative_to(five)).read_bytes() == torn_file(torn, 50)


def contents(root: Path) -> Counter:
    return Counter(path.read_bytes() for path in root.rglob("*") if path.is_file())


def torn_file(found: Counter, size: int) -> bytes:
    return next(content for content in found if len(content) == size)


def test_numbers_that_are_not_finite_are_named_and_set_aside(tmp_path):
    root = tmp_path / "d"
    write_with_lerobot(root, "image")
    rewrite(data_files(root)[0], with_column("action", nan_at(7, 1)))
    assert [str(finding) for finding in check_dataset(root).findings] == [
        "episode 1: action: frame 2, dim 1 is nan",
    ]
    assert mend(root).plan.kept == (0, 2)
    assert np.isfinite(load_dataset(root, frames=False).episodes[1].action).all()


def test_files_changed_on_purpose_are_kept_when_asked(five):
    for video in video_files(five):
        encode_again(video, lambda number: True)
    with pytest.raises(DataError, match=r"none of the 5 episodes .* is whole .* --trust_changed keeps"):
        plan_repair(five)
    plan = plan_repair(five, trust_changed=True)
    assert plan.trusted == plan.kept == (0, 1, 2, 3, 4)
    repair(plan, clock)
    assert check_dataset(five).ok


def test_statistics_are_those_of_the_kept_episodes(five):
    import json

    video_files(five)[-1].unlink()
    mend(five)
    stats = json.loads((five / "meta/stats.json").read_text())
    action = np.concatenate([episode.action for episode in load_dataset(five, frames=False).episodes])
    assert stats["action"]["mean"] == pytest.approx(action.mean(0).tolist(), abs=1e-4)
    assert stats["action"]["count"] == [len(action)]


class Killed(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("moment", range(9))
@pytest.mark.parametrize("spoilt", [1, -1], ids=["built anew", "in place"])
def test_a_kill_in_the_middle_is_finished_by_the_next_run(five, monkeypatch, moment, spoilt):
    """Every renaming is a moment."""
    keep = [content for n, content in enumerate(actions(five)) if n != spoilt % 5]
    data_files(five)[spoilt].unlink()
    plan = plan_repair(five)
    calls = iter(range(1000))

    def stops(real):
        def call(self, target):
            if next(calls) == moment * (1 if spoilt == -1 else 6):
                raise Killed
            return real(self, target)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stops(Path.replace))
        patch.setattr(Path, "rename", stops(Path.rename))
        try:
            repair(plan, clock)
        except Killed:
            assert len(check_dataset(five).verified) == 4
    mend(five)
    assert actions(five) == keep
    assert check_dataset(five).ok
    assert mend(five).plan.way == "nothing"


def test_a_recording_that_runs_is_not_disturbed(five):
    from toys import ToySpec

    from svm_robot.recording.writer import EpisodeWriter

    edit_info(five, total_frames=99)
    plan = plan_repair(five)
    edit_info(five, total_frames=sum(map(len, load_dataset(five, frames=False).episodes)))
    with EpisodeWriter(five, ToySpec(), latent_dim=2), pytest.raises(DataError, match="is recording into"):
        repair(plan, clock)


def test_episodes_that_were_saved_while_a_repair_was_planned_are_no_leftovers(five):
    lengths = [len(episode) for episode in load_dataset(five, frames=False).episodes]
    edit_info(five, total_episodes=4, total_frames=sum(lengths[:4]))  # as it was examined, the fifth being saved
    plan = plan_repair(five)
    assert plan.way == "tidy" and plan.report.leftovers
    edit_info(five, total_episodes=5, total_frames=sum(lengths))
    before = tree_hash(five)
    with pytest.raises(DataError, match=r"has changed while it was examined.*Run it again"):
        repair(plan, clock)
    assert tree_hash(five) == before and len(load_dataset(five).episodes) == 5


def test_a_dataset_without_episodes_is_whole(tmp_path):
    from toys import ToySpec

    from svm_robot.recording.writer import EpisodeWriter

    with EpisodeWriter(tmp_path / "d", ToySpec()):
        pass
    assert check_dataset(tmp_path / "d").summary == "no episodes"
    assert mend(tmp_path / "d").plan.way == "nothing"


def test_rows_written_by_pandas_are_as_good(five):
    """Plain lists instead of lists of fixed length: LeRobot converts them, and so does everything here."""
    for file in data_files(five):
        pq.read_table(file).to_pandas().to_parquet(file)
    kinds = {finding.kind for finding in check_dataset(five).findings}
    assert kinds == {"digest"}
