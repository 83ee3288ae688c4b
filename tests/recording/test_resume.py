"""Going on with a dataset on another rig: what is refused, what needs a word, what is noted."""

from dataclasses import replace

import pytest
from toys import ToyEnv, ToyOperator, ToyPolicy, ToySpec

from svm_robot.data.provenance import Provenance, read_provenance, write_provenance
from svm_robot.errors import DataError
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.resume import check_resume
from svm_robot.rollout import run_episode

RIG = ToySpec(
    units=("deg", "%"),
    robot_id="left",
    calibration="0123456789abcdef",
    camera_identities={"front": "opencv /dev/v4l/by-id/a", "wrist": "opencv /dev/v4l/by-id/b"},
)


def recorded(root, spec=RIG, **options):
    recorder = Recorder(root, spec, "reach", latent_dim=2, **options)
    recorder.open()
    env = ToyEnv(spec)
    run_episode(env, ToyPolicy(), ToyOperator(env), max_steps=3, seed=0, listeners=[recorder])
    recorder.close()
    return recorder


def contents(root):
    """File -> content, the lock left out."""
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and "lock" not in path.name}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    path = tmp_path_factory.mktemp("resume") / "d"
    recorded(path)
    return path


def test_a_new_dataset_names_its_rig(root):
    rig = read_provenance(root).rig
    assert (rig.robot_type, rig.robot_id, rig.joints, rig.units) == ("toy", "left", ("a.pos", "b.pos"), ("deg", "%"))
    assert (rig.calibration, dict(rig.cameras)) == (RIG.calibration, dict(RIG.camera_identities))


def test_the_same_rig_goes_on(root):
    assert check_resume(root, RIG, 2) == []


CHANGES = [
    ({"robot_id": "right"}, "robot id left in the dataset, right on the rig"),
    ({"calibration": "f" * 16}, f"calibration 0123456789abcdef in the dataset, {'f' * 16} on the rig"),
    (
        {"camera_identities": {"front": "opencv /dev/v4l/by-id/b", "wrist": "opencv /dev/v4l/by-id/b"}},
        "device of camera front opencv /dev/v4l/by-id/a in the dataset, opencv /dev/v4l/by-id/b on the rig",
    ),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_another_device_needs_a_word(root, change, message):
    before = contents(root)
    with pytest.raises(DataError) as caught:
        Recorder(root, replace(RIG, **change), "reach", latent_dim=2).open()
    assert message in str(caught.value)
    assert "--accept_changes" in str(caught.value)
    assert contents(root) == before
    assert check_resume(root, replace(RIG, **change), 2, accept_changes=True) == [message]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"units": ("±%", "%")}, "unit of a.pos: deg in the dataset, ±% on the rig"),
        ({"rate_hz": 5.0}, "rate"),
        ({"robot_type": "other"}, "robot 'toy' in the dataset, 'other' on the rig"),
        ({"cameras": {"front": (32, 32)}}, "camera wrist: only in the dataset"),
        ({"joints": ("a.pos", "c.pos")}, "joints of action"),
    ],
)
def test_what_changes_the_meaning_of_a_column_is_refused_whatever_is_said(root, change, message):
    with pytest.raises(DataError, match="another shape") as caught:
        check_resume(root, replace(RIG, robot_id="right", **change), 2, accept_changes=True)
    assert message in str(caught.value)
    assert "robot id left in the dataset, right on the rig" in str(caught.value), "all differences are named at once"


@pytest.mark.parametrize(
    "unknown", [{"robot_id": ""}, {"calibration": ""}, {"camera_identities": {}}, {"units": ()}, {"units": ("", "%")}]
)
def test_what_is_not_known_is_not_compared(root, unknown):
    assert check_resume(root, replace(RIG, **unknown), 2) == []


def test_a_dataset_from_elsewhere_says_nothing_and_is_continued(tmp_path):
    recorded(tmp_path / "d", ToySpec())
    write_provenance(Provenance(), tmp_path / "d")
    recorded(tmp_path / "d", RIG)
    assert read_provenance(tmp_path / "d").rig is None


def test_an_accepted_change_is_noted_and_then_counts(tmp_path):
    root = tmp_path / "d"
    recorded(root)
    other = replace(RIG, calibration="f" * 16, robot_id="")
    assert recorded(root, other, accept_changes=True).accepted == [
        f"calibration 0123456789abcdef in the dataset, {'f' * 16} on the rig"
    ]
    kept = read_provenance(root)
    (change,) = kept.changes
    assert (change.episode, change.rig.calibration, kept.rig.calibration) == (1, "f" * 16, RIG.calibration)
    assert change.rig.robot_id == "left", "what only the dataset knows is kept"
    recorded(root, other)
    assert len(read_provenance(root).changes) == 1
    with pytest.raises(DataError, match=r"calibration f+ in the dataset, 0123"):
        check_resume(root, RIG, 2)


def test_a_word_without_a_change_notes_nothing(tmp_path):
    recorded(tmp_path / "d")
    before = read_provenance(tmp_path / "d")
    recorded(tmp_path / "d", accept_changes=True)
    assert read_provenance(tmp_path / "d") == before


def test_a_dataset_without_episodes_belongs_to_whoever_records_first(tmp_path):
    first = Recorder(tmp_path / "d", RIG, "reach", latent_dim=2)
    first.open()
    first.close()
    other = replace(RIG, robot_id="right")
    recorded(tmp_path / "d", other, accept_changes=True)
    kept = read_provenance(tmp_path / "d")
    assert (kept.rig.robot_id, kept.changes) == ("right", ())
