"""``data check``: what it says of each damage, and that nothing makes it raise or write."""

import json
import random
import re
import shutil
from pathlib import Path

import pytest
from damages import DAMAGES, INFO, append_metadata_row, cut, data_files, edit_info, meta_files, video_files
from recordings import record_toy
from trees import tree_hash

from svm_robot.curation.check.examine import check_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.scripts.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "damaged-datasets.md"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    root = tmp_path_factory.mktemp("check") / "d"
    record_toy(root, "sfs", max_steps=6)
    return root


@pytest.fixture
def copy(recorded, tmp_path):
    return shutil.copytree(recorded, tmp_path / "d")


def told(root: Path) -> str:
    return "\n".join(map(str, check_dataset(root).findings))


def test_a_whole_dataset(recorded):
    seen = []
    report = check_dataset(recorded, progress=lambda done, pieces: seen.append((done, pieces)))
    assert report.ok and report.verified == (0, 1, 2) and report.broken == () and report.advice == ""
    assert seen[-1] == (9, 9), "three episodes: their rows, and two cameras of each"
    assert check_dataset(recorded, deep=True).ok


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda root: data_files(root)[1].unlink(), "episode 1: data/chunk-000/file-001.parquet is missing"),
        (lambda root: data_files(root)[1].write_bytes(b""), "episode 1: data/chunk-000/file-001.parquet is empty"),
        (lambda root: data_files(root)[1].write_bytes(b"\x89PNG....."), "file-001.parquet is not a Parquet file"),
        (lambda root: cut(data_files(root)[1], 0.9), "episode 1: data/chunk-000/file-001.parquet has no footer"),
        (lambda root: video_files(root)[2].write_text("version https://git-lfs.x"), "is a Git LFS pointer"),
        (lambda root: cut(video_files(root)[2], 0.5), "front/chunk-000/file-002.mp4 is damaged"),
        (lambda root: cut(meta_files(root)[2], 0.5), "episodes/chunk-000/file-002.parquet has no footer"),
        (lambda root: append_metadata_row(root, 0), "episode 0: meta/episodes describes it 2 times"),
        (lambda root: edit_info(root, codebase_version="v2.1"), "LeRobot v2.1 dataset.*svm-robot data import"),
        (lambda root: edit_info(root, codebase_version="2.3.0-ours"), "LeRobot 2.3.0-ours dataset.*data import"),
        (lambda root: edit_info(root, codebase_version="groot"), "version 'groot' is unknown.*v3.0, v3.1"),
        (lambda root: edit_info(root, total_episodes=5), "episode 4: meta/info.json counts it"),
        (lambda root: edit_info(root, total_episodes=10**12), "counts 1000000000000 episodes, .* describes 3"),
        (lambda root: (root / INFO).unlink(), "meta/info.json is missing"),
        (lambda root: shutil.rmtree(root), "nothing is there"),
        (lambda root: (root / "labels.jsonl").write_text("{}\n"), "labels.jsonl holds a line that is no label"),
    ],
)
def test_what_is_said(copy, spoil, complaint):
    spoil(copy)
    assert re.search(complaint, told(copy)), told(copy)


def test_notes_are_no_findings(copy):
    shutil.copytree(copy / "meta", copy / ".recording")
    (copy / "images" / "x").mkdir(parents=True)
    (copy / "images" / "x" / "frame.png").write_bytes(b"")
    shutil.copy(data_files(copy)[-1], data_files(copy)[-1].with_name("file-003.parquet"))
    LabelLog(copy).append(7, "failure", "me")
    with (copy / "labels.jsonl").open("a") as log:
        log.write('{"episode_uid"')
    report = check_dataset(copy)
    assert report.ok, report.findings
    notes = "\n".join(note.text for note in report.notes)
    assert "the last line of labels.jsonl is torn" in notes
    assert "labels.jsonl speaks of 1 episodes that the dataset does not have" in notes
    assert {path.name for path in report.leftovers} == {".recording", "images", "file-003.parquet"}


def test_bits_that_flip_are_seen_in_any_file(copy):
    draw = random.Random(1)
    for file in [*data_files(copy), *video_files(copy)]:
        whole = file.read_bytes()
        place = draw.randrange(len(whole))
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :])
        assert len(check_dataset(copy).broken) == 1, f"{file}, byte {place}"
        file.write_bytes(whole)
    assert check_dataset(copy).ok


@pytest.mark.parametrize("seed", range(25))
def test_nothing_makes_it_raise_or_write(copy, seed):
    """Files cut, emptied, exchanged, filled with noise, replaced by folders or by links that go nowhere."""
    draw = random.Random(seed)
    files = [path for path in sorted(copy.rglob("*")) if path.is_file()]
    for file in draw.sample(files, draw.randrange(1, 6)):
        content = file.read_bytes()
        match draw.randrange(7):
            case 0:
                file.write_bytes(content[: draw.randrange(len(content) + 1)])
            case 1:
                file.write_bytes(draw.randbytes(draw.randrange(5000)))
            case 2:
                file.write_bytes(draw.choice(files).read_bytes())
            case 3:
                file.unlink()
                file.mkdir()
            case 4:
                file.unlink()
                file.symlink_to(copy / "nowhere")
            case 5:
                file.unlink()
                file.symlink_to(file)
            case 6:
                place = draw.randrange(len(content) + 1)
                file.write_bytes(content[:place] + draw.randbytes(20) + content[place:])
    before = tree_hash_of_files(copy)
    report = check_dataset(copy)
    assert report.findings or report.ok
    assert len(str(report.findings)) < 100_000
    assert tree_hash_of_files(copy) == before


def tree_hash_of_files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


JSONS = ["null", "3", '"x"', "[]", "{}", '{"a": [1, {"b": null}]}', "NaN", "[1e999]", '{"codebase_version": "v3.0"}']


@pytest.mark.parametrize("content", JSONS)
@pytest.mark.parametrize("name", [INFO, "meta/stats.json", "meta/provenance.json", "labels.jsonl"])
def test_json_of_any_shape(copy, name, content):
    (copy / name).write_text(content)
    check_dataset(copy)


@pytest.mark.parametrize("value", [None, -1, 1.5, "x", [], {}, True, 10**30, float("nan")])
def test_info_that_lies_in_any_field(copy, value):
    info = json.loads((copy / INFO).read_text())
    for key in info:
        (copy / INFO).write_text(json.dumps(info | {key: value}))
        check_dataset(copy)
    for key in ("action", "index", "observation.images.front"):
        for part in ("dtype", "shape", "names"):
            features = {**info["features"], key: info["features"][key] | {part: value}}
            (copy / INFO).write_text(json.dumps(info | {"features": features}))
            check_dataset(copy)


def test_folders_that_may_not_be_read(copy, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr("svm_robot.curation.check.reading.pq.ParquetFile", refuse)
    assert "permission denied" in told(copy).lower()


def test_a_recording_that_goes_on_meanwhile_is_no_damage(copy):
    begun = []

    def record_once(done: int, pieces: int) -> None:
        if not begun:
            begun.append(done)
            record_toy(copy, "sf", max_steps=6)

    report = check_dataset(copy, progress=record_once)
    assert report.ok and report.counted == 3 and not report.leftovers, report.findings
    assert "added while it was examined" in "".join(note.text for note in report.notes)
    assert check_dataset(copy).verified == (0, 1, 2, 3, 4)


def test_the_command_says_it_and_names_the_next_step(copy, capsys):
    assert main(["data", "check", str(copy)]) == 0
    assert capsys.readouterr().out == f"{copy}: 3 episodes, {check_dataset(copy).rows} rows: whole\n"
    for video in video_files(copy)[:2]:
        video.unlink()
    assert main(["data", "check", str(copy)]) == 3
    printed = capsys.readouterr().out
    assert "episode 0: videos/observation.images.front/chunk-000/file-000.mp4 is missing" in printed
    assert f"svm-robot data repair {copy}" in printed
    assert main(["data", "check", str(copy), "--json"]) == 3
    plain = json.loads(capsys.readouterr().out)
    assert (plain["ok"], plain["verified"], plain["findings"][0]["episode"]) == (False, [2], 0)


def test_the_command_mends_once_and_a_dry_run_changes_nothing(copy, capsys):
    video_files(copy)[0].unlink()
    before = tree_hash(copy.parent)
    assert main(["data", "repair", str(copy), "--dry_run"]) == 0
    planned = capsys.readouterr().out
    assert "episode 0: set aside: videos/" in planned and "episode 1 becomes episode 0" in planned
    assert tree_hash(copy.parent) == before
    assert main(["data", "repair", str(copy)]) == 0
    assert capsys.readouterr().out.startswith(planned)
    assert main(["data", "repair", str(copy), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["way"] == "nothing"


@pytest.mark.parametrize("words", [["check"], ["repair"], ["check", "a", "b"], ["repair", "a", "--deep"]])
def test_wrong_use_is_one_line(words, capsys):
    assert main(["data", *words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("verb", ["check", "repair"])
def test_no_dataset_is_one_reason_not_a_traceback(tmp_path, verb, capsys):
    (tmp_path / "holiday.jpg").write_bytes(b"\xff\xd8")
    assert main(["data", verb, str(tmp_path)]) == 3
    printed = capsys.readouterr()
    assert "meta/info.json is missing" in printed.out + printed.err


def test_a_damaged_dataset_is_mended_before_a_recording_goes_on(copy, capsys):
    from svm_robot.errors import DataError
    from svm_robot.scripts.record import look_at

    look_at(copy, mend=False)
    look_at(copy.parent / "new", mend=True)
    data_files(copy)[1].unlink()
    with pytest.raises(DataError, match="--repair"):
        look_at(copy, mend=False)
    look_at(copy, mend=True)
    assert "episode 1: set aside" in capsys.readouterr().err
    assert record_toy(copy, "f", max_steps=6).summary.episode == 2


def test_every_kind_of_finding_is_explained(recorded, tmp_path):
    """``--json`` names the kind of each finding; the page lists them."""
    kinds = set()
    for number, damage in enumerate(damage for damage in DAMAGES if "own" in damage.only):
        root = shutil.copytree(recorded, tmp_path / str(number))
        damage.apply(root)
        report = check_dataset(root)
        kinds |= {finding.kind for finding in (*report.findings, *report.notes)}
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert len(kinds) > 10
    assert kinds <= listed
