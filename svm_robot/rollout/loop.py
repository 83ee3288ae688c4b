"""The one loop that acts. Everything that watches is a listener; everything that limits lies below ``Env.apply``."""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from svm_robot.errors import DeviceError, StaleError, SvmRobotError, UnsafeActionError
from svm_robot.rollout.env import Env, FloatArray, Observation
from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Outcome, Step
from svm_robot.rollout.listener import Listener
from svm_robot.rollout.operator import Operator
from svm_robot.rollout.policy import Policy


def run_episode(
    env: Env,
    policy: Policy,
    operator: Operator,
    *,
    max_steps: int,
    task: str = "",
    seed: int | None = None,
    listeners: Sequence[Listener] = (),
) -> EpisodeEnd:
    """Run one episode and return how it ended.

    The policy is asked for a chunk whenever the last one is used up; the operator is polled after every step.
    Listeners are always told the end, in reverse order, also when something raised; the first error is re-raised.
    What raised is told to the environment before anybody else, so that the arm stands still while they save.
    """
    begun: list[Listener] = []
    episode = _Episode(env, policy, operator, listeners, max_steps)
    try:
        env.reset(seed)
        policy.reset(seed)
        start = EpisodeStart(spec=env.spec, task=task, seed=seed, source=policy.source)
        for listener in listeners:
            begun.append(listener)
            listener.on_start(start)
        end = episode.run()
    except BaseException as error:
        failures = _rest(env, error)
        _note(error, failures + _tell_end(begun, episode.aborted(error)))
        raise
    failures = _tell_end(begun, end)
    if failures:
        raise _note(failures[0], failures[1:])
    return end


class _Episode:
    """The state of one run: the chunk in hand, the first and last observation."""

    def __init__(
        self, env: Env, policy: Policy, operator: Operator, listeners: Sequence[Listener], max_steps: int
    ) -> None:
        self.env, self.policy, self.operator, self.listeners = env, policy, operator, listeners
        self.max_steps = max_steps
        self.every_frame = any(listener.needs_every_frame for listener in listeners)
        self.steps = 0
        self.first_time_s: float | None = None
        self.last_time_s = 0.0
        self.chunk: FloatArray = np.empty((0, 0), np.float32)
        self.position = 0
        self.source = policy.source
        self.latent: FloatArray | None = None

    def run(self) -> EpisodeEnd:
        for index in range(self.max_steps):
            verdict = self.step(index)
            if verdict is not None:
                return self.ended(Outcome(verdict), by_time=False)
        return self.ended(None, by_time=True)

    def step(self, index: int) -> str | None:
        taken_over = self.policy.source != self.source  # what another one chose is not carried out any further
        decision = taken_over or self.position >= len(self.chunk)
        observation = self.observe(frames=decision or self.every_frame)
        self.check_finite(observation, index)
        if decision:
            self.decide(observation)
        requested = self.chunk[self.position]
        applied = self.env.apply(requested)
        self.position += 1
        self.steps = index + 1
        step = Step(
            index=index,
            observation=observation,
            requested=requested,
            sent=applied.sent,
            clipped=applied.clipped,
            source=self.source,
            decision=decision,
            chunk=self.chunk,
            latent=self.latent,
        )
        for listener in self.listeners:
            listener.on_step(step)
        return self.operator.poll(step)

    def check_finite(self, observation: Observation, index: int) -> None:
        """Nothing may act on a joint reading that is no number."""
        for joint, value in zip(self.env.spec.joints, observation.state, strict=True):
            if not isfinite(value):
                raise DeviceError(f"step {index}: joint {joint} reads {value}; nothing moves on that")

    def decide(self, observation: Observation) -> None:
        """Ask for the next chunk, and who chose it from what: both hold for all of its steps."""
        chunk = self.policy.act(observation)
        if chunk.ndim != 2 or len(chunk) == 0:
            raise UnsafeActionError(
                f"the policy gave actions of shape {chunk.shape}, expected (steps, joints); not sent"
            )
        self.chunk, self.position = chunk, 0
        self.source, self.latent = self.policy.source, self.policy.latent

    def observe(self, frames: bool) -> Observation:
        observation = self.env.observe(frames=frames)
        self.last_time_s = observation.state_time_s
        if self.first_time_s is None:
            self.first_time_s = self.last_time_s
        return observation

    def ended(self, outcome: Outcome | None, by_time: bool) -> EpisodeEnd:
        final, stale = None, ""
        try:
            final = self.observe(frames=True)  # what a time-out bootstraps from
        except StaleError as error:  # nothing moves any more, so the verdict stands
            stale = f"; no last observation: {error}"
        self.env.rest()
        if outcome is None:
            outcome = Outcome(self.operator.outcome())
        terminated = outcome is Outcome.SUCCESS  # also at the time limit: success wins ties with the clock
        reason = ("time limit" if by_time else f"verdict: {outcome}") + stale
        return EpisodeEnd(outcome, terminated, not terminated, reason, self.steps, self.duration_s, final)

    def aborted(self, error: BaseException) -> EpisodeEnd:
        return EpisodeEnd(Outcome.ABORTED, False, True, in_words(error), self.steps, self.duration_s, None)

    @property
    def duration_s(self) -> float:
        return 0.0 if self.first_time_s is None else self.last_time_s - self.first_time_s


def in_words(error: BaseException) -> str:
    """What broke an episode off, for people who read its label later."""
    if isinstance(error, SvmRobotError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return str(error) or "stopped by Ctrl-C"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _rest(env: Env, error: BaseException) -> list[BaseException]:
    """The arm stands still before anybody saves anything; what fails here must not keep the listeners from the end."""
    try:
        env.rest(error)
    except BaseException as failure:  # noqa: BLE001  (a Ctrl-C among them)
        return [failure]
    return []


def _tell_end(listeners: Sequence[Listener], end: EpisodeEnd) -> list[BaseException]:
    """Every listener hears the end, even when another one fails; what failed is returned, first error first."""
    failures: list[BaseException] = []
    for listener in reversed(listeners):
        try:
            listener.on_end(end)
        except BaseException as error:  # noqa: BLE001  (also after Ctrl-C the others must hear the end)
            failures.append(error)
    return failures


def _note[E: BaseException](error: E, others: Sequence[BaseException]) -> E:
    """``error``, with what else went wrong written under it."""
    for other in others:
        error.add_note(f"and while ending the episode: {type(other).__name__}: {other}")
    return error
