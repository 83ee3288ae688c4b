"""``data check`` and LeRobot's own loader must agree about every damage, or the table says why they differ."""

import shutil

import pytest
from damages import DAMAGES
from lerobot_reading import lerobot_reads, write_with_lerobot
from recordings import record_toy

from svm_robot.curation.check import check_dataset

KINDS = ("own", "video", "image")
CASES = [(damage.only[number % len(damage.only)], damage) for number, damage in enumerate(DAMAGES)]
CASES += [("own", damage) for damage in DAMAGES[:1]] + [("video", damage) for damage in DAMAGES[:1]]
"""Each damage to one kind of dataset, in turn; loading one with LeRobot takes half a second."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One dataset of each kind, three episodes of five frames."""
    roots = {kind: tmp_path_factory.mktemp("whole") / kind for kind in KINDS}
    record_toy(roots["own"], "fff", max_steps=5)
    write_with_lerobot(roots["video"], "video")
    write_with_lerobot(roots["image"], "image")
    return roots


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "damage"), CASES, ids=[f"{kind}-{damage.name}" for kind, damage in CASES])
def test_check_and_lerobot_agree(whole, tmp_path, kind, damage):
    root = shutil.copytree(whole[kind], tmp_path / "d")
    damage.apply(root)
    report, theirs = check_dataset(root), lerobot_reads(root)
    told = "\n".join(map(str, report.findings))
    assert report.ok == damage.harmless, told or "nothing found"
    if report.ok:
        assert not theirs, "check says whole, LeRobot cannot read it"
    elif not theirs:
        assert damage.hidden, f"LeRobot reads every item, check complains: {told}"
