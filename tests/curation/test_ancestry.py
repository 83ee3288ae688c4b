"""The record of the rig follows the episodes, whatever is cut and joined."""

from dataclasses import replace

import pytest

from svm_robot.curation.rebuild.ancestry import derive, join, select
from svm_robot.curation.rebuild.source import Source
from svm_robot.data.provenance import Provenance, RigChange, RigRecord, read_provenance, write_provenance
from svm_robot.errors import DataError

OLD = RigRecord("toy", "left", ("a",), ("deg",), "0123", {"front": "usb-1"})
NEW = replace(OLD, calibration="4567")
CHANGED = Provenance(OLD, (), (RigChange(3, ("calibration",), NEW, 5.0),))


def source(provenance: Provenance, episodes: int) -> Source:
    return Source("day", {}, [None] * episodes, [], provenance, "f00d")  # type: ignore[list-item]


def rig_of(provenance: Provenance, episode: int) -> RigRecord | None:
    past = [change for change in provenance.changes if change.episode <= episode]
    return past[-1].rig if past else provenance.rig


@pytest.mark.parametrize("kept", [[0, 1], [3, 4], [1, 2, 3], [0, 4], [4, 0], [5, 1, 3]])
def test_each_kept_episode_keeps_its_rig(kept: list[int]) -> None:
    chosen = select(CHANGED, kept)
    assert [rig_of(chosen, place) for place in range(len(kept))] == [rig_of(CHANGED, number) for number in kept]
    assert len(chosen.changes) <= 2


def test_each_joined_episode_keeps_its_rig() -> None:
    joined = join([source(CHANGED, 5), source(Provenance(OLD), 2), source(CHANGED, 4)], 9.0)
    rigs = [OLD] * 3 + [NEW] * 2 + [OLD] * 5 + [NEW]
    assert [rig_of(joined, episode) for episode in range(11)] == rigs
    assert joined.changes[1].what == ("calibration 4567 in the dataset, 0123 on the rig",)


def test_a_rig_that_nobody_noted_changes_nothing() -> None:
    assert join([source(Provenance(), 2), source(Provenance(), 1)], 0.0) == Provenance()
    assert join([source(Provenance(OLD), 2), source(Provenance(), 1)], 0.0) == Provenance(OLD)


def test_every_step_is_noted_and_survives_the_disk(tmp_path) -> None:
    once = derive(CHANGED, "svm-robot data delete", [(source(CHANGED, 5), 4)], 7.0)
    twice = derive(once, "svm-robot data merge", [(source(once, 4), 4), (source(once, 2), 2)], 8.0)
    write_provenance(twice, tmp_path)
    assert read_provenance(tmp_path) == twice
    assert [step.tool.split()[-1] for step in twice.derived] == ["delete", "merge"]
    assert [(origin.name, origin.fingerprint, origin.episodes) for origin in twice.derived[1].sources] == [
        ("day", "f00d", 4),
        ("day", "f00d", 2),
    ]


def test_a_damaged_or_newer_record_is_named_and_a_missing_one_is_empty(tmp_path) -> None:
    assert read_provenance(tmp_path) == Provenance()
    write_provenance(CHANGED, tmp_path)
    path = tmp_path / "meta/provenance.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
    with pytest.raises(DataError, match="has version 7, this tool reads 1; update"):
        read_provenance(tmp_path)
    path.write_text("{")
    with pytest.raises(DataError, match=r"provenance.json is damaged"):
        read_provenance(tmp_path)
