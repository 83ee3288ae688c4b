"""What a finetuning run works with, and what comes out of it. The script that knows all rooms builds it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svm_robot.learner.experience import SteeredPolicy
from svm_robot.learner.pilot import Pilot
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.rollout import Env, Operator
from svm_robot.rollout.evaluate import Evaluation


@dataclass(frozen=True)
class Workplace:
    """Nothing here knows a device or a kind of policy."""

    env: Env
    operator: Operator
    steer: Callable[[Pilot], SteeredPolicy]
    """The frozen policy with this pilot at its noise."""
    base: Pilot
    """The base's own noise, N(0, I) clipped at the bound."""
    zero: Pilot
    """No noise at all: what steering has to beat, without any training."""
    reward: SvmRewardModel
    save_policy: Callable[[Path], None]
    """Writes the frozen policy into a folder, for the kept policies."""
    vector_dim: int
    latent_dim: int
    chunk: int
    """Control steps per decision."""
    max_steps: int
    """Time limit of an episode [control steps]."""
    task: str
    identity: Mapping[str, str]
    """Hashes of policy and reward, and the like; a resumed run must have the same."""
    about: Mapping[str, Any]
    """What the journal says of the run beside that: policy, reward, versions (plain JSON)."""
    shared_features: int = 0
    """How many of a vector's first numbers are also the reward's features; 0: the reward has its own encoder."""
    live_score_ms: Callable[[], Mapping[str, float] | None] = lambda: None
    """p50 and p95 of the live score, when one runs beside."""
    say: Callable[[str], None] = print
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    reason: str
    """``budget`` when the planned steps were used, else why it stopped before."""
    env_steps: int
    best: Mapping[str, Any] | None
    """The evaluation whose policy was kept: successes, episodes, mean_steps, env_steps."""
    final: Evaluation | None
    """The kept policy on fresh episodes; None when the run did not get there."""
