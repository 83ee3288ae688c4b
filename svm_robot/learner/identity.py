"""What a resumed run must have in common with the run it continues."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from svm_robot.learner.config import FinetuneConfig
from svm_robot.learner.workplace import Workplace

MAY_CHANGE = ("steps",)
"""Settings that may change: a longer budget is the same run."""


def identity(config: FinetuneConfig, work: Workplace) -> dict[str, Any]:
    """Settings, sizes and hashes, as plain JSON."""
    spec = work.env.spec
    settings = {name: value for name, value in asdict(config).items() if name not in MAY_CHANGE}
    robot = {"robot_type": spec.robot_type, "joints": list(spec.joints), "rate_hz": spec.rate_hz}
    robot["cameras"] = {role: list(size) for role, size in spec.cameras.items()}
    limits = {"task": work.task, "max_steps": work.max_steps, "chunk": work.chunk}
    return settings | robot | limits | dict(work.identity)


def changes(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Every difference in words, for example ``shaping was svm, is outcome``."""
    for name in [*old, *(name for name in new if name not in old)]:
        before, after = old.get(name), new.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from changes(before, after, f"{prefix}{name}.")
        elif before != after:
            yield f"{prefix}{name} was {before}, is {after}"
