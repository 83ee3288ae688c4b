"""``svm-robot data export DATASET --to=... --out=NEW``: a copy for tools that know nothing of the label log."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from svm_robot.errors import DataError

if TYPE_CHECKING:
    from svm_robot.curation.rebuild.source import Source
    from svm_robot.data.label_view import LabelView

USAGE = "svm-robot data export DATASET --to=lerobot|hdf5|csv --out=NEW [--dry_run]"


@dataclass
class ExportConfig:
    """The labels that count now are written where other tools look. The dataset itself is not changed."""

    to: Literal["lerobot", "hdf5", "csv"]  # lerobot: success in next.success, next.reward, next.done; hdf5: robomimic
    out: str  # what to write: a folder, for hdf5 a file; must not exist
    dry_run: bool = False  # say what would be done, write nothing


def main(args: list[str]) -> int:
    """Read the dataset and its labels, write the copy, tell."""
    from svm_robot.curation.rebuild.place import check_target
    from svm_robot.curation.rebuild.source import open_source
    from svm_robot.data.label_view import read_view
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(ExportConfig, options, usage=USAGE)
    root, target = Path(words[0]), Path(config.out)
    check_target(target, replace=False)
    source, view = open_source(root), read_view(root)
    if not source.episodes:
        raise DataError(f"{root} holds no episodes: there is nothing to export")
    if config.to == "hdf5":
        import h5py  # noqa: F401  (a dry run must say as well that the extra is missing)
    if not config.dry_run:
        write(source, view, target, config.to)
    counts = ", ".join(f"{count} {kind}" for kind, count in view.counts.items())
    done = "would export" if config.dry_run else "exported"
    print(f"{done} {root}: {len(source.episodes)} episodes ({counts}) as {config.to} to {target}")
    return 0


def write(source: "Source", view: "LabelView", target: Path, kind: str) -> None:
    """The copy in the format that was asked for."""
    if kind == "csv":
        from svm_robot.curation.labels.to_csv import write_csv

        write_csv(source, view, target)
    elif kind == "hdf5":
        from svm_robot.curation.formats.hdf5_writer import write_hdf5

        write_hdf5(source, [episode.outcome for episode in view.episodes], target)
    else:
        from svm_robot.curation.rebuild.ancestry import derive
        from svm_robot.curation.rebuild.rebuild import rebuild

        provenance = derive(source.provenance, "svm-robot data export", [(source, len(source.episodes))], time.time())
        rebuild(target, source.info, source.episodes, source.labels, provenance, bake_labels=True)
