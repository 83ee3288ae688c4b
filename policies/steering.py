"""Noise steering: a frozen flow policy whose noise is chosen by a pilot (DSRL, Wagenmaker et al. 2025).

The pilot sees [features, normalised joints, share of the episode's time used] and answers with the noise; the flow
turns it into a chunk. Sampling the noise from N(0, I) is the base policy itself.
"""

import time
from collections import deque
from collections.abc import Callable

import numpy as np
import torch

from svm_robot.errors import CheckpointError
from svm_robot.learner.pilot import Pilot
from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
from svm_robot.rollout.env import FloatArray, Observation

_STREAM = 0x9107
"""Keeps the noise apart from the world's own draws, which are made from the same episode seed."""


class GaussianPilot:
    """N(0, I), clipped to +-``bound``: the sampled base policy."""

    def __init__(self, dim: int, bound: float) -> None:
        self.dim, self.bound = dim, bound
        self.reset(None)

    def reset(self, seed: int | None) -> None:
        """Start the draws of an episode."""
        self._rng = np.random.default_rng(None if seed is None else [_STREAM, seed])

    def __call__(self, vector: FloatArray) -> FloatArray:
        """(d,) a fresh draw, whatever the vector."""
        return self._rng.standard_normal(self.dim, np.float32).clip(-self.bound, self.bound)


class ZeroPilot:
    """Zero noise always: the centre of what the base does, and the ceiling to measure steering against."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def reset(self, seed: int | None) -> None:
        """Nothing to forget."""

    def __call__(self, vector: FloatArray) -> FloatArray:
        """(d,) zeros."""
        return np.zeros(self.dim, np.float32)


class SteeredPolicy:
    """Satisfies ``svm_robot.rollout.Policy``. ``horizon_steps``: control steps of a whole episode.

    ``act`` takes milliseconds on one torch thread; ``latency_ms`` says how many. Set the number of threads in the
    program (``torch.set_num_threads(1)``): more threads make single pictures slower, not faster.
    """

    source = "policy"

    def __init__(
        self,
        flow: SvmFlowPolicy,
        pilot: Pilot,
        horizon_steps: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.flow = flow.eval()
        self.pilot, self.horizon_steps, self.clock = pilot, horizon_steps, clock
        self.latent: FloatArray | None = None
        self._step = 0
        self._seen: tuple[Observation, FloatArray] | None = None
        self._seconds: deque[float] = deque(maxlen=10_000)

    @property
    def dim(self) -> int:
        """d, the length of the noise."""
        return int(self.flow.config.latent_dim)

    def reset(self, seed: int | None = None) -> None:
        """A new episode: time starts at 0, the pilot draws anew."""
        self._step, self.latent, self._seen = 0, None, None
        self.pilot.reset(seed)

    def resume(self, step: int) -> None:
        """Somebody else acted meanwhile: so many control steps of the episode are over."""
        self._step = step

    @torch.inference_mode()
    def act(self, observation: Observation) -> FloatArray:
        """(c, J) absolute targets; ``latent`` holds the noise they came from."""
        begun = self.clock()
        vector = self.vector_of(observation, self._step)
        latent = np.asarray(self.pilot(vector), np.float32)
        if latent.shape != (self.dim,):
            raise CheckpointError(f"the pilot answers with noise {latent.shape}, this flow policy takes ({self.dim},)")
        chunk = self._generate(vector, observation.state, latent)
        self.latent = latent
        self._step += len(chunk)
        self._seconds.append(self.clock() - begun)
        return chunk

    def vector_of(self, observation: Observation, step_index: int) -> FloatArray:
        """(n,) what the pilot saw, or would see, at this control step. The last observation is encoded only once."""
        if self._seen is None or self._seen[0] is not observation:
            frames = {role: frame[None] for role, frame in observation.frames.items()}
            encoded = self.flow.vectors(frames, observation.state[None], np.zeros(1, np.float32))[0]
            self._seen = (observation, encoded)
        vector = self._seen[1].copy()
        vector[-1] = step_index / self.horizon_steps
        return vector

    def latency_ms(self) -> tuple[float, float]:
        """Median and 95th percentile of ``act`` over the last 10,000 decisions [ms]; NaN before the first."""
        if not self._seconds:
            return float("nan"), float("nan")
        p50, p95 = np.percentile(np.array(self._seconds) * 1e3, [50, 95])
        return float(p50), float(p95)

    def _generate(self, vector: FloatArray, state: FloatArray, latent: FloatArray) -> FloatArray:
        device = self.flow.state_scale.mean.device
        features, joints, noise = (
            torch.from_numpy(np.asarray(part, np.float32))[None].to(device)
            for part in (vector[: self.flow.features], state, latent)
        )
        return self.flow.generate(features, joints, noise)[0].cpu().numpy()  # type: ignore[no-any-return]
