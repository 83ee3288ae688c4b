"""An existing dataset against a rig: everything that differs is named."""

import pytest
from recordings import record_toy
from toys import ToySpec

from svm_robot.data.schema import check_same, features
from svm_robot.errors import DataError


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "d"
    record_toy(path, "s")
    return path


def test_the_same_rig_passes(root):
    check_same(root, ToySpec(), 2)


@pytest.mark.parametrize(
    ("spec", "latent_dim", "message"),
    [
        (ToySpec(robot_type="so101_follower"), 2, "robot 'toy' in the dataset, 'so101_follower' on the rig"),
        (ToySpec(rate_hz=30.0), 2, r"rate \[Hz\] 10 in the dataset, 30 on the rig"),
        (
            ToySpec(joints=("a.pos", "c.pos")),
            2,
            r"joints of action: \['a.pos', 'b.pos'\] in the dataset, \['a.pos', 'c.pos'\]",
        ),
        (ToySpec(joints=("b.pos", "a.pos")), 2, r"joints of observation.state: \['a.pos', 'b.pos'\]"),
        (ToySpec(joints=("a.pos", "b.pos", "c.pos")), 2, "joints of svm.requested"),
        (ToySpec(cameras={"front": (32, 32)}), 2, "camera wrist: only in the dataset"),
        (ToySpec(cameras={"front": (32, 32), "wrist": (32, 32), "top": (9, 9)}), 2, "camera top: only on the rig"),
        (
            ToySpec(cameras={"front": (32, 32), "wrist": (24, 32)}),
            2,
            "camera wrist: 32x32 in the dataset, 32x24 on the rig",
        ),
        (ToySpec(), None, "column svm.latent: float32 x 2 in the dataset, missing on the rig"),
        (ToySpec(), 3, "column svm.latent: float32 x 2 in the dataset, float32 x 3 on the rig"),
    ],
)
def test_each_difference_is_named(root, spec, latent_dim, message):
    with pytest.raises(DataError, match=message):
        check_same(root, spec, latent_dim)


def test_all_differences_are_named_at_once(root):
    with pytest.raises(DataError) as caught:
        check_same(root, ToySpec(robot_type="x", rate_hz=5.0, cameras={}), None)
    text = str(caught.value)
    for part in (
        "robot 'toy'",
        "rate [Hz]",
        "camera front",
        "camera wrist",
        "svm.latent",
        "Record into another folder",
    ):
        assert part in text


def test_a_latent_column_only_for_a_policy_with_noise():
    assert "svm.latent" not in features(ToySpec())
    assert features(ToySpec(), 5)["svm.latent"]["shape"] == [5]
