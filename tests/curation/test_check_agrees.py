"""``data check`` and LeRobot's own loader must agree about every damage, or the table says why they differ."""

import random
import shutil

import pytest
from damages import DAMAGES
from lerobot_reading import lerobot_reads, write_with_lerobot
from recordings import record_toy

from svm_robot.curation.check.examine import check_dataset

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


HIDDEN_KINDS = {"digest", "numbers", "stats", "labels", "index", "counters", "video", "tasks", "info", "rows"}
"""Kinds of findings that LeRobot may read over; docs/damaged-datasets.md says why."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [*range(12), 180, 214])
def test_they_agree_about_damage_that_nobody_chose(whole, tmp_path, seed):
    """Bytes changed, cut off and inserted anywhere; 180 and 214 hit what stands beside the rows of metadata files."""
    draw = random.Random(seed)
    root = shutil.copytree(whole[KINDS[seed % 3]], tmp_path / "d")
    file = draw.choice([path for path in sorted(root.rglob("*")) if path.is_file() and path.name[0] != "."])
    content = file.read_bytes()
    place = draw.randrange(len(content))
    rest = draw.choice([b"", content[place + 1 :], content[place:]])
    file.write_bytes(content[:place] + draw.randbytes(draw.randrange(3)) + rest)
    report, theirs = check_dataset(root), lerobot_reads(root)
    if report.ok:
        assert not theirs, f"{file.name}: check says whole, LeRobot cannot read it"
    elif not theirs:
        assert {finding.kind for finding in report.findings} <= HIDDEN_KINDS, report.findings
