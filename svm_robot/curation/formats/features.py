"""From the feature table of a dataset of whatever origin to one that every command here reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from svm_robot.data import columns
from svm_robot.data.schema import BOOKKEEPING, Feature, vector
from svm_robot.errors import DataError


@dataclass(frozen=True)
class Plan:
    """Which columns a dataset will have, and what each is made of."""

    features: Mapping[str, Feature]
    """Columns of numbers, single pictures included; without bookkeeping, videos and depth maps."""
    cameras: Mapping[str, Feature]
    """Features kept as video."""
    gathered: Mapping[str, tuple[str, ...]]
    """Vector -> the columns of one number each that it is put together from."""
    notes: tuple[str, ...]


def plan_features(declared: Mapping[str, Feature], source: str) -> Plan:
    """Read a feature table. Raises ``DataError`` when there is no state or no action in it."""
    notes: list[str] = []
    table: dict[str, Feature] = {}
    cameras: dict[str, Feature] = {}
    for key, feature in declared.items():
        if key in BOOKKEEPING:
            continue
        details = feature.get("info") or feature.get("video_info") or {}
        if details.get("video.is_depth_map") or details.get("is_depth_map"):
            notes.append(f"the depth maps {key} are left out: pictures here have colours")
        elif feature.get("dtype") in ("video", "image"):
            tidy = {name: value for name, value in feature.items() if name != "video_info"} | {"info": details}
            (cameras if feature["dtype"] == "video" else table)[key] = tidy
        else:
            table[key] = tidy_vector(key, feature, notes)
    gathered = {}
    for key, prefixes in ((columns.STATE, (f"{columns.STATE}.", "observation.")), (columns.ACTION, ("action.",))):
        if key not in table:
            table, gathered[key] = gather(table, key, prefixes, source)
            notes.append(f"{key} is put together from {len(gathered[key])} columns of one number each")
    return Plan(table, cameras, gathered, tuple(notes))


def tidy_vector(key: str, feature: Feature, notes: list[str]) -> Feature:
    """A column of one dimension, its names a flat list as long as the vector, or none."""
    try:
        shape = [int(size) for size in feature["shape"]] or [1]
        dtype = str(feature["dtype"])
        if dtype != "string":
            np.dtype(dtype)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the feature {key} cannot be read ({error!r}): {feature}") from error
    length = int(np.prod(shape))
    if len(shape) > 1:
        notes.append(f"{key} of shape {shape} is kept as {length} numbers in a row")
    names = flat_names(feature.get("names"))
    if names and len(names) != length:
        notes.append(f"{key} has {length} numbers but {len(names)} names; the names are left out")
        names = []
    return vector(dtype, length, names or None)


def flat_names(names: Any) -> list[str]:
    """Names from a list, a list of lists or a table of lists; empty where there are none."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, Mapping):
        names = list(names.values()) if any(isinstance(value, list) for value in names.values()) else list(names)
    if not isinstance(names, list):
        return []
    return [name for part in names for name in (flat_names(part) if isinstance(part, list | Mapping) else [str(part)])]


def gather(
    table: Mapping[str, Feature], key: str, prefixes: tuple[str, ...], source: str
) -> tuple[dict[str, Feature], tuple[str, ...]]:
    """The table with a vector ``key`` in place of columns of one number each, and the names of those."""
    for prefix in prefixes:
        parts = [
            name
            for name, feature in table.items()
            if name.startswith(prefix) and feature["shape"] == [1] and feature["dtype"].startswith("float")
        ]
        if parts:
            joints = [name.removeprefix(prefix) for name in parts]
            rest = {name: feature for name, feature in table.items() if name not in parts}
            return {key: vector("float32", len(parts), joints), **rest}, tuple(parts)
    raise DataError(
        f"{source} has no column {key}, and no {prefixes[-1]}* columns of one number to make it from; "
        f"its columns are: {', '.join(table) or 'none'}"
    )
