"""Writes the labels that count now into the columns where LeRobot's tools look for success."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.data.schema import vector
from svm_robot.recording.commit import Table
from svm_robot.rollout.episode import Outcome

OUTCOME_COLUMNS = {columns.REWARD: "float32", columns.DONE: "bool", columns.SUCCESS: "bool"}


def with_outcome_columns(info: dict[str, Any]) -> dict[str, Any]:
    """The same ``meta/info.json`` with the columns that ``bake`` fills."""
    added = {key: vector(dtype, 1) for key, dtype in OUTCOME_COLUMNS.items() if key not in info["features"]}
    return info | {"features": info["features"] | added}


def bake(table: Table, length: int, outcome: Outcome | None) -> dict[str, NDArray[Any]]:
    """Reward 1 and success on the last row of a success, 0 on all others; every episode is done at its last row.

    An episode nobody has labelled keeps what its columns say; columns it does not have are filled with zeros.
    """
    last = np.arange(length) == length - 1
    success = last & (outcome is Outcome.SUCCESS)
    filled: dict[str, NDArray[Any]] = {
        columns.REWARD: success.astype(np.float32),
        columns.DONE: last,
        columns.SUCCESS: success,
    }
    return {key: values for key, values in filled.items() if outcome is not None or key not in table}
