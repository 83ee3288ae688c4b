"""``data import`` and ``data export`` as a person uses them, and misuses them."""

import json
import os
import pickle
import signal
import subprocess
import sys

import pytest
from foreign import CAMERA, transitions, write_pickle, write_robomimic, write_v2
from recordings import record_toy

from svm_robot.data import load_dataset
from svm_robot.data.label_view import read_view
from svm_robot.data.labels import LabelLog
from svm_robot.data.provenance import read_provenance
from svm_robot.rollout.episode import Outcome
from svm_robot.scripts.main import main


@pytest.fixture(scope="module")
def v2(tmp_path_factory):
    return write_v2(tmp_path_factory.mktemp("v2") / "old")


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Success, failure, and a success that a person calls a failure afterwards."""
    root = tmp_path_factory.mktemp("toy") / "demos"
    record_toy(root, "sfs")
    LabelLog(root).set(read_view(root).episodes[2].uid, Outcome.FAILURE, "me", "it fell")
    return root


def run(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def tree(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_import_tells_what_it_did_and_where_it_came_from(v2, tmp_path, capsys):
    before = tree(v2)
    code, out, err = run(capsys, "data", "import", v2, f"--out={tmp_path / 'new'}")
    assert (code, err) == (0, "")
    assert "imported LeRobot v2.1 old: 3 episodes (2 failure, 1 success), 18 frames at 10 Hz" in out
    assert tree(v2) == before
    assert run(capsys, "data", "check", tmp_path / "new", "--deep")[0] == 0
    (step,) = read_provenance(tmp_path / "new").derived
    assert (step.tool, step.sources[0].name, step.sources[0].episodes) == (
        "svm-robot data import",
        "old (LeRobot v2.1)",
        3,
    )


def test_what_must_be_loaded_by_others_says_how_to_import_it(v2, capsys):
    code, _, err = run(capsys, "data", "stats", v2)
    assert code == 3
    assert f"svm-robot data import {v2} --out=NEW" in err


def test_a_dry_run_writes_nothing_and_gives_the_same_figures(v2, tmp_path, capsys):
    words = ("data", "import", v2, f"--out={tmp_path / 'new'}", "--json")
    code, planned, _ = run(capsys, *words, "--dry-run")
    assert (code, list(tmp_path.iterdir())) == (0, [])
    done = run(capsys, *words)[1]
    assert {**json.loads(planned), "dry_run": False} == json.loads(done)
    assert json.loads(done)["labels"] == {"failure": 2, "success": 1}


def test_transitions_and_hdf5_by_their_names_or_by_word(tmp_path, capsys):
    pickled, hdf5 = write_pickle(tmp_path / "a.pkl", transitions("sf")), write_robomimic(tmp_path / "a.hdf5")
    said = ("--fps=10", "--task", "push it", "--robot_type=so101")
    assert run(capsys, "data", "import", pickled, f"--out={tmp_path / 'one'}", *said)[0] == 0
    pickled.rename(tmp_path / "a.bin")
    code, _, err = run(capsys, "data", "import", tmp_path / "a.bin", f"--out={tmp_path / 'two'}", *said)
    assert (code, "--from=" in err) == (3, True)
    words = ("data", "import", tmp_path / "a.bin", f"--out={tmp_path / 'two'}", "--from=hilserl", *said)
    assert run(capsys, *words)[0] == 0
    assert load_dataset(tmp_path / "one").fingerprint == load_dataset(tmp_path / "two").fingerprint
    chosen = "--state=robot0_joint_pos, robot0_gripper_qpos"
    assert run(capsys, "data", "import", hdf5, f"--out={tmp_path / 'three'}", "--task=lift", chosen)[0] == 0
    assert len(load_dataset(tmp_path / "three", frames=False).joints) == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["{v2}"], 2, "missing: --out="),
        (["{v2}", "--out={tmp}"], 3, "exists already"),
        (["{v2}", "--out={v2}/new"], 3, "lies inside"),
        (["{tmp}/nowhere", "--out={tmp}/new"], 3, "there is no"),
        (["{v2}", "{v2}", "--out={tmp}/new"], 2, "expected: svm-robot data import"),
        (["{v2}", "--out={tmp}/new", "--from=rlds"], 2, "from"),
        (["{v2}", "--out={tmp}/new", "--form=hdf5"], 2, "did you mean"),
        (["{v2}", "--out={tmp}/new", "--from=hdf5"], 3, "cannot be read as HDF5"),
        (["{v2}", "--out={tmp}/new", "--from=hilserl", "--fps=10", "--task=t"], 3, "holds no pickles"),
        (["{v2}", "--out={tmp}/new", "--without_videos", "--cameras=top"], 2, "contradict each other"),
        (["{v2}", "--out={tmp}/new", "--cameras=nose"], 3, "no camera nose"),
        (["{v2}", "--out={tmp}/new", "--fps=0"], 2, "at least 1 Hz"),
        (["{v2}", "--out={tmp}/new", "--fps=30"], 3, "leave --fps out"),
        (["{tmp}", "--out={tmp}/sub/new"], 3, "lies inside the source"),
        (["{v2}/meta/info.json", "--out={tmp}/new"], 3, "not known by its name"),
    ],
)
def test_mistakes_cost_one_line_and_change_nothing(v2, tmp_path, capsys, words, code, message):
    before = tree(v2)
    got, out, err = run(capsys, "data", "import", *(word.format(v2=v2, tmp=tmp_path) for word in words))
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert message in err
    assert (tree(v2), list(tmp_path.iterdir())) == (before, [])


def test_a_pickle_that_would_run_something_is_refused_by_name(tmp_path, capsys):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trap"),)

    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps([Evil()]))
    words = ("data", "import", path, f"--out={tmp_path / 'new'}", "--fps=10", "--task=t")
    code, _, err = run(capsys, *words)
    assert code == 3
    assert "mkdir; only plain values" in err
    assert list(tmp_path.iterdir()) == [path]


def test_a_video_that_is_damaged_in_the_middle_leaves_nothing_behind(tmp_path, capsys):
    root = write_v2(tmp_path / "old")
    video = root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4"
    content = bytearray(video.read_bytes())
    begin = content.index(b"mdat") + 4
    size = int.from_bytes(content[begin - 8 : begin - 4]) - 8
    content[begin + size // 2 : begin + size] = bytes(size - size // 2)
    video.write_bytes(content)
    code, _, err = run(capsys, "data", "import", root, f"--out={tmp_path / 'new'}")
    assert code == 3
    assert "episode 1 of old" in err
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_killed_import_leaves_no_dataset_and_the_next_one_succeeds(v2, tmp_path):
    command = [sys.executable, "-m", "svm_robot", "data", "import", str(v2), f"--out={tmp_path / 'new'}"]
    stopper = "import os, signal, sys; from svm_robot.curation.rebuild import rebuild as r\n"
    stopper += "from svm_robot.scripts.main import main\n"
    stopper += "r.verify = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nsys.exit(main(sys.argv[1:]))"
    killed = subprocess.run([sys.executable, "-c", stopper, *command[3:]], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "new").exists()
    assert subprocess.run(command, check=False, timeout=60, capture_output=True).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_missing_extra_is_one_line(tmp_path, capsys, monkeypatch, toy):
    for module in [name for name in sys.modules if name.startswith("svm_robot.curation.formats.hdf5")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "h5py", None)
    for words in (
        ("import", toy, "--from=hdf5", "--task=t", f"--out={tmp_path / 'new'}"),
        ("export", toy, "--to=hdf5", f"--out={tmp_path / 'new'}", "--dry_run"),
    ):
        code, _, err = run(capsys, "data", *words)
        assert (code, err) == (2, "svm-robot data: needs h5py: pip install 'svm-robot[hdf5]'\n")


def test_an_export_for_lerobot(toy, tmp_path, capsys):
    before = tree(toy)
    code, out, _ = run(capsys, "data", "export", toy, "--to=lerobot", f"--out={tmp_path / 'new'}")
    assert code == 0
    assert "3 episodes (1 success, 2 failure) as lerobot" in out
    assert tree(toy) == before
    assert run(capsys, "data", "check", tmp_path / "new")[0] == 0
    assert read_view(tmp_path / "new").snapshot == read_view(toy).snapshot


def test_tables_that_can_be_edited_and_imported_again(toy, tmp_path, capsys):
    out = tmp_path / "tables"
    assert run(capsys, "data", "export", toy, "--to=csv", f"--out={out}")[0] == 0
    history = (out / "labels.csv").read_text().splitlines()
    assert len(history) == 5
    assert [line.split(",")[2] for line in history[1:]] == ["success", "failure", "success", "failure"]
    table = out / "episodes.csv"
    code, told, _ = run(capsys, "label", toy, "import", table, "--dry-run")
    assert code == 0, told
    table.write_text(table.read_text().replace("it fell", "it slipped"))
    assert "it slipped" in run(capsys, "label", toy, "import", table, "--dry-run")[1]


@pytest.mark.parametrize("kind", ["lerobot", "hdf5", "csv"])
def test_a_dry_export_writes_nothing_and_a_second_one_overwrites_nothing(toy, tmp_path, capsys, kind):
    target = tmp_path / "new"
    words = ("data", "export", toy, f"--to={kind}", f"--out={target}")
    assert run(capsys, *words, "--dry_run")[0] == 0
    assert list(tmp_path.iterdir()) == []
    target.mkdir()
    code, _, err = run(capsys, *words)
    assert (code, "exists already" in err, list(target.iterdir())) == (3, True, [])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["{toy}", "--out={tmp}/new"], 2, "missing: --to="),
        (["{toy}", "--to=rlds", "--out={tmp}/new"], 2, "to"),
        (["{toy}", "--to=csv"], 2, "missing: --out="),
        (["{toy}", "--to=csv", "--out={toy}/new"], 3, "lies inside the dataset"),
        (["{tmp}/nowhere", "--to=csv", "--out={tmp}/new"], 3, "does not exist"),
        (["{v2}", "--to=csv", "--out={tmp}/new"], 3, "svm-robot data import"),
    ],
)
def test_mistakes_of_an_export(toy, v2, tmp_path, capsys, words, code, message):
    before = tree(toy)
    got, out, err = run(capsys, "data", "export", *(word.format(v2=v2, toy=toy, tmp=tmp_path) for word in words))
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert message in err
    assert (tree(toy), list(tmp_path.iterdir())) == (before, [])
