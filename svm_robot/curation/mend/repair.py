"""Mends a dataset: keeps every whole episode, renumbers them, and sets everything else aside. Nothing is deleted.

Where only leftovers, counters, statistics or the last episodes are concerned it is done in place; else the dataset is
built anew from its whole episodes beside its place, and the old one is kept as ``NAME.before-N``.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from svm_robot.curation.check.examine import Progress, Report, check_dataset, examine
from svm_robot.curation.check.findings import Finding, Ledger, told
from svm_robot.curation.check.meta import Meta, read_info
from svm_robot.curation.mend.salvage import is_worth_trying, salvaged
from svm_robot.curation.mend.tidy import is_label, is_tail, tidy
from svm_robot.curation.rebuild.ancestry import derive, select
from svm_robot.curation.rebuild.place import free_backup, nobody_else
from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.curation.rebuild.rows import RowReader
from svm_robot.curation.rebuild.source import Source, SourceEpisode, build, number_all
from svm_robot.data import columns
from svm_robot.data.labels import FILE, Label, parse_line
from svm_robot.data.layout import DIGEST, Layout, Row
from svm_robot.data.provenance import Provenance, read_provenance
from svm_robot.data.schema import vector
from svm_robot.errors import DataError

TOOL = "svm-robot data repair"
IN_PLACE = ("stats", "labels", "counters", "stray")
"""Kinds of findings that are mended without touching an episode."""


@dataclass(frozen=True)
class Plan:
    """What a repair will do."""

    report: Report
    meta: Meta
    kept: tuple[int, ...]
    """Episodes that stay, by the numbers they have now."""
    way: str
    """``nothing``, ``tidy`` (in place), ``rebuild``, or ``salvage``: rebuild from what could be found again."""
    trusted: tuple[int, ...] = ()
    """Kept although their files changed since they were recorded."""

    @property
    def dropped(self) -> tuple[int, ...]:
        """Counted episodes that are set aside, as far as they are named."""
        return tuple(sorted(set(self.report.broken) - set(self.kept)))

    def lines(self) -> list[str]:
        """The plan in words."""
        report, root = self.report, self.report.root
        if self.way == "nothing":
            return [f"{root}: {report.summary}; nothing to repair"]
        rescued = sorted(set(self.kept) - set(report.verified) - set(self.trusted))
        lines = told(Finding(index, "", f"set aside: {why(report.of(index))}") for index in self.dropped)
        lines += told(Finding(index, "", f"found again: {why(report.of(index))}") for index in rescued)
        lines += told(Finding(index, "", f"kept, though {why(report.of(index))}") for index in self.trusted)
        lines += [f"episode {old} becomes episode {new}" for new, old in enumerate(self.kept) if old != new]
        lines += [f"mended: {text}" for text in dict.fromkeys(found.text for found in report.of(None))]
        lines += [f"set aside: {path.relative_to(root)}" for path in report.leftovers if self.way == "tidy"]
        if self.way != "tidy":
            lines.append(f"the dataset is built anew; as it is now it is kept as {free_backup(root)}")
        return [*lines, f"{len(self.kept)} of {report.counted} episodes are kept"]


@dataclass(frozen=True)
class Repaired:
    """What a repair did."""

    plan: Plan
    set_aside: tuple[Path, ...]
    """Where pieces lie now that were moved."""
    backup: Path | None
    """The dataset as it was, when it was built anew."""
    after: Report


def plan_repair(root: Path, trust_changed: bool = False, progress: Progress | None = None) -> Plan:
    """Examine a dataset and say what a repair will do. Raises ``DataError`` when it cannot be mended.

    ``trust_changed`` keeps episodes whose files changed since they were recorded, when everything in them is whole.
    """
    report, meta = examine(Path(root), progress=progress)
    if meta is None or not report.readable:
        raise DataError(f"{root} cannot be repaired: {why(report.findings)}")
    changed = {
        index for index in report.broken if index in meta.rows and {f.kind for f in report.of(index)} == {"digest"}
    }
    trusted = tuple(sorted(changed)) if trust_changed else ()
    kept = tuple(sorted({*report.verified, *trusted}))
    if is_worth_trying(meta):
        with salvaged(meta) as (found, _):
            if len(found.verified) > len(kept):
                return Plan(report, meta, found.verified, "salvage")
    if report.counted and not kept:
        hint = "; --trust_changed keeps those whose files were changed on purpose" if changed else ""
        none = f"none of the {report.counted} episodes of {root} is whole"
        raise DataError(f"{none} ({why(report.findings)}); nothing was changed{hint}")
    return Plan(report, meta, kept, way_of(report, meta, kept, bool(trusted)), trusted)


def way_of(report: Report, meta: Meta, kept: tuple[int, ...], trusted: bool) -> str:
    """The smallest step that mends it."""
    if report.ok and not report.leftovers and not torn_labels(report):
        return "nothing"
    whole = {found.kind for found in report.of(None)} <= set(IN_PLACE)
    return "tidy" if whole and not trusted and is_tail(meta, kept) else "rebuild"


def torn_labels(report: Report) -> bool:
    """True when the label log ends in a torn line."""
    return any(note.kind == "labels" and "torn" in note.text for note in report.notes)


def repair(plan: Plan, clock: Callable[[], float], progress: Progress | None = None) -> Repaired:
    """Carry a plan out. Raises ``DataError`` when the result is not whole; every piece is still there then."""
    root = plan.report.root
    if plan.way == "nothing":
        return Repaired(plan, (), None, plan.report)
    moved: list[Path] = []
    backup = None
    with nobody_else(root):
        check_unchanged(plan)
        if plan.way == "tidy":
            moved = tidy(plan.meta, plan.kept, plan.report.leftovers)
            after = check_dataset(root)
            if not after.ok:  # the damage hid something that only shows now
                plan = replace(plan_repair(root), way="rebuild")
        if plan.way != "tidy":
            backup = build_anew(plan, clock, progress)
            after = check_dataset(root)
    if not after.ok:
        raise DataError(f"{root} could not be mended: {why(after.findings)}")
    return Repaired(plan, tuple(moved), backup, after)


def check_unchanged(plan: Plan) -> None:
    """Raise ``DataError`` when the dataset has other counters than the plan knows: a recording ended meanwhile, and its
    episodes would be taken for leftovers. To be asked when nobody else can write any more.
    """
    root, known = plan.report.root, plan.meta.info
    now = read_info(root, Ledger()) or {}
    if any(now.get(key, 0) != known[key] for key in ("total_episodes", "total_frames")):
        raise DataError(
            f"{root} has changed while it was examined, by a recording perhaps; nothing was done. Run it again"
        )


def build_anew(plan: Plan, clock: Callable[[], float], progress: Progress | None) -> Path | None:
    """Put the kept episodes into a dataset of their own, in the old one's place; where the old one lies now."""
    with salvaged(plan.meta) if plan.way == "salvage" else nullcontext((plan.report, plan.meta)) as (_, meta):
        assert meta is not None
        source = source_of(plan, meta)
        provenance = derive(source.provenance, TOOL, [(source, len(source.episodes))], clock())
        root = plan.report.root
        made = rebuild(root, source.info, source.episodes, source.labels, provenance, replace=True, progress=progress)
        return made.backup


def source_of(plan: Plan, meta: Meta) -> Source:
    """The kept episodes, to be built anew from the files that ``meta`` names."""
    root = plan.report.root
    rows = tuple(
        without_digests(meta.rows[index]) if index in plan.trusted else meta.rows[index] for index in plan.kept
    )
    layout = Layout(meta.root, meta.info, rows)
    reader = RowReader(layout, dict(enumerate(meta.tasks)))
    ours = columns.EPISODE_UID in meta.features
    uids, fingerprint = number_all(layout, reader, ours)
    episodes: list[SourceEpisode] = [build(layout, reader, row, uid) for row, uid in zip(rows, uids, strict=True)]
    features = meta.features | ({} if ours else {columns.EPISODE_UID: vector("int64", 1)})
    by_index = None if ours else dict(zip(plan.kept, uids, strict=True))
    provenance = select(provenance_of(root), plan.kept)
    return Source(
        root.name, meta.info | {"features": features}, episodes, labels_of(root, by_index), provenance, fingerprint
    )


def without_digests(row: Row) -> Row:
    """An episode's metadata without what its files once were."""
    return {key: value for key, value in row.items() if not key.startswith(DIGEST)}


def labels_of(root: Path, by_index: dict[int, int] | None) -> list[Label]:
    """The lines of the label log that can be read; hung on uids where they hung on indices."""
    path = root / FILE
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    labels = [parse_line(line) for line in lines if line.strip() and is_label(line)]
    if by_index is None:
        return labels
    known = [label for label in labels if label.episode_uid in by_index]
    return [replace(label, episode_uid=by_index[label.episode_uid]) for label in known]


def provenance_of(root: Path) -> Provenance:
    """What the dataset says of its origin; nothing when that is torn."""
    try:
        return read_provenance(root)
    except (DataError, OSError):
        return Provenance()


def why(findings: tuple[Finding, ...]) -> str:
    """The first findings in one line."""
    texts = list(dict.fromkeys(found.text for found in findings))
    return "; ".join(texts[:2]) + (f"; and {len(texts) - 2} more" if len(texts) > 2 else "")
