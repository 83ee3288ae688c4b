"""Episodes found on disk, put together to a source that a dataset can be built from."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from svm_robot.curation.formats.clips import probe
from svm_robot.curation.formats.features import Plan
from svm_robot.curation.formats.opened import Opened
from svm_robot.curation.formats.outcomes import labels_of
from svm_robot.curation.formats.rows import Survey, shape, uids
from svm_robot.curation.rebuild.source import Clip, Source, SourceEpisode
from svm_robot.data import columns
from svm_robot.data.provenance import Provenance
from svm_robot.data.schema import BOOKKEEPING, Feature, empty_info, vector
from svm_robot.rollout.env import ImageArray

Read = Callable[[], pa.Table]
Frames = Callable[[], Iterator[ImageArray]]


@dataclass(frozen=True)
class Piece:
    """One episode as it lies on disk, checked."""

    number: int
    survey: Survey
    read: Read
    """Its rows with all columns."""
    clips: Mapping[str, Clip] = field(default_factory=dict)
    frames: Mapping[str, Frames] = field(default_factory=dict)
    """Cameras whose pictures cannot be copied as they are."""
    uid: int | None = None
    """Its id, where the recording has one."""
    outcome: str | None = None
    """Its outcome, where the recording names it; empty: said to be unlabelled. None: it does not say."""


@dataclass(frozen=True)
class Header:
    """What is said of a recording as a whole."""

    root: Path
    kind: str
    rate_hz: int
    robot_type: str | None
    time: float
    """When it is imported [s since 1970, UTC]."""


def assemble(
    header: Header, plan: Plan, pieces: Sequence[Piece], left_out: tuple[int, ...], notes: Sequence[str]
) -> Opened:
    """A source of these episodes, in this order."""
    plan, dropped = without_absent(plan, pieces)
    features = dict(plan.features)
    if any(piece.survey.off_grid for piece in pieces):
        features[columns.SOURCE_TIME] = vector("float64", 1)
    features[columns.EPISODE_UID] = vector("int64", 1)
    names = tuple(features)
    ids = uids([piece.survey.digest for piece in pieces])
    ids = [uid if piece.uid is None else piece.uid for uid, piece in zip(ids, pieces, strict=True)]
    episodes = [
        SourceEpisode(
            uid=uid,
            task=piece.survey.sentences[0],
            length=piece.survey.length,
            table=partial(rows_of, piece, plan, names, uid),
            clips=piece.clips,
            frames=piece.frames,
            source=header.root.name,
            source_index=piece.number,
        )
        for uid, piece in zip(ids, pieces, strict=True)
    ]
    labels, why = labels_of(
        ids, [piece.survey.told for piece in pieces], [piece.outcome for piece in pieces], header.time
    )
    source = Source(
        name=header.root.name,
        info=new_info(header, features, plan.cameras),
        episodes=episodes,
        labels=labels,
        provenance=Provenance(),
        fingerprint=rows_hash(pieces),
    )
    notes = [*notes, *dropped, *remarks(plan, pieces, header.rate_hz), f"labels: {why}"]
    return Opened(source, header.kind, tuple(notes), left_out)


def rows_of(piece: Piece, plan: Plan, names: Sequence[str], uid: int) -> Any:
    """The table of a source's episode."""
    return shape(piece.read(), plan, names, uid, piece.survey.sentences)


def rows_hash(pieces: Sequence[Piece]) -> str:
    """16-digit hash of the states and actions of all episodes."""
    return hashlib.sha256(b"".join(piece.survey.digest for piece in pieces)).hexdigest()[:16]


def without_absent(plan: Plan, pieces: Sequence[Piece]) -> tuple[Plan, list[str]]:
    """The plan without columns that some episode does not have."""
    absent = {key for piece in pieces for key in piece.survey.absent}
    kept = {key: feature for key, feature in plan.features.items() if key not in absent}
    notes = [f"left out, because data files lack it: the column {', '.join(sorted(absent))}"] if absent else []
    return replace(plan, features=kept), notes


def real_cameras(plan: Plan, pieces: Sequence[Piece], rate_hz: int) -> Plan:
    """The plan with what the videos themselves say of their encoding."""
    told = dict(plan.cameras)
    for key, feature in plan.cameras.items():
        clip = next((piece.clips[key] for piece in pieces if key in piece.clips), None)
        if clip is not None:
            told[key] = feature | {"info": probe(clip.path).feature_info(rate_hz)}
    return replace(plan, cameras=told)


def remarks(plan: Plan, pieces: Sequence[Piece], rate_hz: int) -> list[str]:
    """What happened to the rows, one sentence each."""
    found = []
    strange = sorted({key for piece in pieces for key in piece.survey.strange})
    if strange:
        found.append(f"left out, because the metadata does not know it: the column {', '.join(strange)}")
    if any(piece.survey.off_grid for piece in pieces):
        found.append(f"its timestamps are not k/{rate_hz}: they are kept in {columns.SOURCE_TIME}, timestamp is k/fps")
    return found


def new_info(header: Header, features: Mapping[str, Feature], cameras: Mapping[str, Feature]) -> dict[str, Any]:
    """``meta/info.json`` of the dataset to build."""
    bookkeeping = {key: vector(dtype, 1) for key, dtype in BOOKKEEPING.items()}
    return empty_info(header.rate_hz, {**features, **cameras, **bookkeeping}, bool(cameras), header.robot_type)
