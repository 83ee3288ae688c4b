"""Examines pictures that are kept inside the rows, one by one."""

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
from PIL import Image

from svm_robot.curation.check.findings import Ledger, reason
from svm_robot.curation.check.meta import Meta
from svm_robot.curation.check.values import Values


def check_pictures(meta: Meta, parquet: pq.ParquetFile, values: Values, ledger: Ledger, episodes: set[int]) -> None:
    """Every picture that is kept inside the rows must open and have the promised size."""
    index, frame = values["episode_index"][:, 0], values["frame_index"][:, 0]
    for key, feature in meta.features.items():
        if feature["dtype"] != "image" or key not in parquet.schema_arrow.names:
            continue
        for row, stored in enumerate(pictures(parquet, key)):
            episode = int(index[row])
            if episode in episodes:
                problem = picture_problem(stored, feature["shape"])
                if problem:
                    ledger.wrong("pictures", f"{key}: frame {frame[row]} {problem}", episode)


def pictures(parquet: pq.ParquetFile, key: str) -> Iterator[Any]:
    """What one column of pictures holds, row by row."""
    for batch in parquet.iter_batches(batch_size=64, columns=[key], use_threads=False):
        yield from batch.column(0).to_pylist()


def picture_problem(stored: Any, shape: list[int]) -> str:
    """Why a stored picture is none; empty when it is one of the promised size."""
    if not isinstance(stored, dict) or not (stored.get("bytes") or stored.get("path")):
        return "is empty"
    try:
        with Image.open(io.BytesIO(stored["bytes"]) if stored.get("bytes") else stored["path"]) as picture:
            picture.load()
            width, height = picture.size
    except Exception as error:  # noqa: BLE001  (decoders raise anything on damaged bytes)
        return f"cannot be decoded ({reason(error)})"
    if height not in shape or width not in shape:
        return f"is {width}x{height}, info.json promises {shape}"
    return ""
