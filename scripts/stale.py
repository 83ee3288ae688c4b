"""What verbs say when labels have changed since the models they use were trained."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from svm_robot.data.staleness import read_trained, warnings
from svm_robot.scripts.cli import warn

if TYPE_CHECKING:
    from svm_robot.data import Dataset


def warn_if_stale(models: Iterable[Path], dataset: "Dataset") -> None:
    """A note for each of these policies, rewards or runs whose labels are no longer those of ``dataset``."""
    for text in warnings([read_trained(model) for model in models], dataset):
        warn(text)
