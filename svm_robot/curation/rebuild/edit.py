"""Datasets without some of their episodes, joined, or cut in parts: first a plan in words, then the new datasets."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svm_robot.curation.rebuild.ancestry import derive, join, select
from svm_robot.curation.rebuild.differences import check_mergeable
from svm_robot.curation.rebuild.place import check_target, free_backup
from svm_robot.curation.rebuild.rebuild import Progress, Rebuilt, check_episodes, rebuild
from svm_robot.curation.rebuild.source import Source, SourceEpisode, open_source
from svm_robot.data import columns
from svm_robot.data.files import new_folder
from svm_robot.data.label_view import UNLABELLED, read_view
from svm_robot.data.labels import Label, stacks
from svm_robot.data.layout import read_info
from svm_robot.data.provenance import Provenance
from svm_robot.errors import ConfigError, DataError

DELETE, MERGE, SPLIT = (f"svm-robot data {name}" for name in ("delete", "merge", "split"))


@dataclass(frozen=True)
class NewDataset:
    """One dataset to build."""

    target: Path
    info: dict[str, Any]
    episodes: Sequence[SourceEpisode]
    labels: Sequence[Label]
    provenance: Provenance

    def lines(self) -> list[str]:
        """What it will hold, one line for each episode."""
        said = {uid: str(lines[-1].outcome) for uid, lines in stacks(self.labels).items() if lines}
        frames = sum(episode.length for episode in self.episodes)
        return [f"{self.target}: {len(self.episodes)} episodes, {frames} frames"] + [
            f"  {number:4}  from {episode.source} episode {episode.source_index}, {episode.length} frames, "
            f"{said.get(episode.uid, UNLABELLED)}"
            for number, episode in enumerate(self.episodes)
        ]


@dataclass(frozen=True)
class Plan:
    """What will be built from what. Nothing is written before ``carry_out``."""

    parts: tuple[NewDataset, ...]
    left_out: tuple[SourceEpisode, ...] = ()
    notes: tuple[str, ...] = ()
    folder: Path | None = None
    """The parts lie in it, and it appears as a whole; None: there is one part, with a place of its own."""
    replace: bool = False
    """The part takes the place of a dataset, which is kept beside it."""

    def check(self) -> None:
        """Raise ``DataError`` for what would be refused while it is carried out, as far as that is known before."""
        check_target(self.folder or self.parts[0].target, self.replace)
        for part in self.parts:
            check_episodes(part.episodes)
            for episode in part.episodes:
                episode.table()

    def lines(self) -> list[str]:
        """Exactly what will happen."""
        told = [line for part in self.parts for line in part.lines()]
        told += [f"left out: {episode.source} episode {episode.source_index}" for episode in self.left_out]
        if self.replace:
            target = self.parts[0].target
            told.append(f"the dataset that is at {target} now is kept as {free_backup(target)}")
        return told + [f"note: {note}" for note in self.notes]

    def carry_out(self, progress: Progress | None = None) -> list[Rebuilt]:
        """Build everything, or after an error nothing."""
        check_target(self.folder or self.parts[0].target, self.replace)
        with nullcontext() if self.folder is None else new_folder(self.folder) as fresh:
            return [self._build(part, fresh, progress) for part in self.parts]

    def _build(self, part: NewDataset, fresh: Path | None, progress: Progress | None) -> Rebuilt:
        place = part.target if fresh is None else fresh / part.target.name
        made = rebuild(
            place, part.info, part.episodes, part.labels, part.provenance, replace=self.replace, progress=progress
        )
        return replace(made, root=part.target)


def plan_delete(root: Path, numbers: Sequence[int], out: Path | None, clock: Callable[[], float]) -> Plan:
    """The dataset at ``root`` without some episodes, at ``out`` or (None) in its own place."""
    root = root.resolve() if out is None else root
    source = opened(root, clock)
    check_numbers(numbers, source)
    kept = [number for number in range(len(source.episodes)) if number not in set(numbers)]
    left_out = tuple(source.episodes[number] for number in numbers)
    return Plan((part_of(source, kept, out or root, DELETE, clock),), left_out, replace=out is None)


def plan_merge(roots: Sequence[Path], out: Path, clock: Callable[[], float]) -> Plan:
    """All episodes of several datasets in one. Raises ``DataError`` that lists in what they differ."""
    if len(roots) < 2:
        raise ConfigError("give at least two datasets to merge")
    sources = [opened(root, clock) for root in roots]
    notes = [
        note
        for place, root in enumerate(roots[1:], 1)
        for note in check_mergeable(roots[0], sources[0], root, sources[place])
    ]
    episodes = [episode for source in sources for episode in source.episodes]
    labels = [label for source in sources for label in source.labels]
    info = sources[0].info | {"features": common_features([source.info["features"] for source in sources])}
    provenance = derive(join(sources, clock()), MERGE, [(source, len(source.episodes)) for source in sources], clock())
    return Plan((NewDataset(out, info, episodes, labels, provenance),), notes=tuple(dict.fromkeys(notes)))


def plan_split(root: Path, parts: Mapping[str, Sequence[int]], folder: Path, clock: Callable[[], float]) -> Plan:
    """Name -> episode numbers of each part. Raises ``DataError`` for an episode in two parts."""
    source = opened(root, clock)
    named = [number for numbers in parts.values() for number in numbers]
    check_numbers(named, source)
    twice = sorted({number for number in named if named.count(number) > 1})
    if twice:
        raise DataError(f"episode {twice[0]} is in two parts; each belongs to one")
    made = tuple(part_of(source, numbers, folder / name, SPLIT, clock) for name, numbers in parts.items())
    left_out = tuple(episode for number, episode in enumerate(source.episodes) if number not in set(named))
    return Plan(made, left_out, folder=folder)


def part_of(source: Source, numbers: Sequence[int], target: Path, tool: str, clock: Callable[[], float]) -> NewDataset:
    """Some episodes of a dataset as one of its own."""
    provenance = derive(select(source.provenance, numbers), tool, [(source, len(numbers))], clock())
    episodes = [source.episodes[number] for number in numbers]
    return NewDataset(target, source.info, episodes, source.labels, provenance)


def opened(root: Path, clock: Callable[[], float]) -> Source:
    """A dataset to edit. Outcomes that only its columns tell become labels: in a new dataset the log has the word."""
    source = open_source(root)
    if columns.EPISODE_UID in read_info(root)["features"]:
        return source
    told = [
        Label(
            source.episodes[seen.index].uid, seen.recorded, "import", clock(), f"told by the columns of {source.name}"
        )
        for seen in read_view(root).episodes
        if seen.label is None and seen.recorded is not None
    ]
    return replace(source, labels=[*told, *source.labels])


def check_numbers(numbers: Sequence[int], source: Source) -> None:
    """Raise ``DataError`` for an episode that is not there."""
    unknown = [number for number in numbers if not 0 <= number < len(source.episodes)]
    if unknown:
        there = f"0 to {len(source.episodes) - 1}" if source.episodes else "no episodes"
        raise DataError(f"there is no episode {unknown[0]} in {source.name}; it has {there}")


def common_features(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The feature table of the first dataset, without details of its videos in which another one differs."""
    merged = {}
    for key, feature in tables[0].items():
        details = [table[key].get("info") or {} for table in tables]
        shared = {name: value for name, value in details[0].items() if all(value == d.get(name) for d in details)}
        merged[key] = feature | {"info": shared} if details[0] else feature
    return merged
