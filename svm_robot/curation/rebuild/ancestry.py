"""The provenance of a dataset that was made from others: its rig and its history follow the episodes."""

from collections.abc import Sequence
from dataclasses import replace

from svm_robot.curation.rebuild.source import Source
from svm_robot.data.provenance import Derivation, Origin, Provenance, RigChange
from svm_robot.recording.resume import other_devices
from svm_robot.version import __version__


def derive(provenance: Provenance, tool: str, sources: Sequence[tuple[Source, int]], time: float) -> Provenance:
    """One step further: ``tool`` took so many episodes of each source."""
    origins = tuple(Origin(source.name, source.fingerprint, taken) for source, taken in sources)
    return replace(provenance, derived=(*provenance.derived, Derivation(tool, __version__, origins, time)))


def select(provenance: Provenance, kept: Sequence[int]) -> Provenance:
    """The same for some episodes, in the order of ``kept``: changes of the rig are renumbered."""
    first = provenance.rig
    changes: list[RigChange] = []
    for position, number in enumerate(kept):
        past = [change for change in provenance.changes if change.episode <= number]
        rig = past[-1].rig if past else provenance.rig
        before = changes[-1].rig if changes else first
        if position == 0:
            first = rig
        elif rig is not None and rig != before:
            what = past[-1].what if past else ("as it was recorded at first",)
            time = past[-1].time if past else provenance.changes[0].time
            changes.append(RigChange(position, what, rig, time))
    return replace(provenance, rig=first, changes=tuple(changes))


def join(sources: Sequence[Source], time: float) -> Provenance:
    """All of them, one after the other; where the rig of the next is another, that is a change of the rig."""
    joined, episodes = sources[0].provenance, len(sources[0].episodes)
    for source in sources[1:]:
        before, after = joined.latest_rig, source.provenance.rig
        changes = [replace(change, episode=change.episode + episodes) for change in source.provenance.changes]
        if after is not None and before is not None and after != before:
            what = other_devices(before, after) or ["another record of the rig"]
            changes.insert(0, RigChange(episodes, tuple(what), after, time))
        joined = Provenance(
            joined.rig or after, (*joined.derived, *source.provenance.derived), (*joined.changes, *changes)
        )
        episodes += len(source.episodes)
    return joined
