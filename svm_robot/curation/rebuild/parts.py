"""Which episode goes into which part of a dataset."""

import re
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from svm_robot.data.label_view import parse_episodes
from svm_robot.errors import ConfigError, DataError

_STREAM = 0x5B17
"""Keeps the draw apart from others made from the same user seed."""


def parse_shares(text: str) -> dict[str, float]:
    """``train:0.8,val:0.2`` as name -> share. Raises ``ConfigError`` unless the shares add up to 1."""
    shares: dict[str, float] = {}
    for word in text.split(","):
        name, _, number = word.strip().partition(":")
        try:
            share = float(number)
        except ValueError as error:
            raise ConfigError(f"'{word.strip()}' is no part; write NAME:SHARE, as in train:0.8,val:0.2") from error
        if not 0 < share < 1:
            raise ConfigError(f"{name}:{number}: a share lies between 0 and 1")
        check_name(name, shares)
        shares[name] = share
    total = sum(shares.values())
    if abs(total - 1) > 1e-6:
        raise ConfigError(
            f"the shares add up to {total:g}, not to 1; add rest:{1 - total:g}"
            if total < 1
            else f"the shares add up to {total:g}, not to 1"
        )
    return shares


def parse_lists(text: str) -> dict[str, tuple[int, ...]]:
    """``train:0-7,val:8,9`` as name -> episodes: a word with a name begins a part. Raises ``ConfigError``."""
    words: dict[str, list[str]] = {}
    for word in text.split(","):
        name, colon, numbers = word.strip().rpartition(":")
        if colon:
            check_name(name, words)
            words[name] = [numbers]
        elif words:
            words[next(reversed(words))].append(numbers)
        else:
            raise ConfigError(f"'{text}' names no part; write NAME:EPISODES, as in train:0-7,val:8,9")
    return {name: parse_episodes(",".join(numbers)) for name, numbers in words.items()}


def check_name(name: str, taken: Mapping[str, object]) -> None:
    """Raise ``ConfigError`` for a name that cannot be that of a folder, or is there twice."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ConfigError(f"'{name}' is no name for a part; use letters, digits, '-', '_' and '.'")
    if name in taken:
        raise ConfigError(f"the part '{name}' is named twice")


def allot(shares: Mapping[str, float], strata: Sequence[Hashable], seed: int) -> dict[str, tuple[int, ...]]:
    """Name -> episode numbers in order. ``strata``: what each episode is; every part gets its share of each.

    The same input gives the same parts. Raises ``DataError`` for a part that would be empty.
    """
    rng = np.random.default_rng([_STREAM, seed])
    queue: list[int] = []
    for stratum in sorted(set(strata), key=str):
        members = [number for number, found in enumerate(strata) if found == stratum]
        queue += [members[place] for place in rng.permutation(len(members))]
    parts: dict[str, list[int]] = {name: [] for name in shares}
    for dealt, number in enumerate(queue, 1):
        behind = {name: share * dealt - len(parts[name]) for name, share in shares.items()}
        parts[max(behind, key=lambda name: behind[name])].append(number)
    empty = [name for name, members in parts.items() if not members]
    if empty:
        raise DataError(f"{len(strata)} episodes are too few: the part '{empty[0]}' would be empty")
    return {name: tuple(sorted(members)) for name, members in parts.items()}
