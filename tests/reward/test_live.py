"""The live score on the toy robot: what is scored, what is flagged, what is refused."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from toys import ToyEnv, ToyOperator, ToyPolicy, ToySpec

from svm_robot.errors import CheckpointError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.live import LiveScore, Score, sigmoid
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.rollout import EpisodeEnd, EpisodeStart, Step, run_episode

SPEC = ToySpec()


def model_for(action: str, **more: object) -> SvmRewardModel:
    torch.manual_seed(0)
    given = {"latent_dim": 2 if action == "noise" else 0, "chunk": 2, "device": "cpu", "beta": 0.05} | more
    cameras = {role: list(size) for role, size in SPEC.cameras.items()}
    return SvmRewardModel(SvmConfig(joints=list(SPEC.joints), cameras=cameras, action=action, **given))  # type: ignore[arg-type]


def run(live: LiveScore, policy: ToyPolicy | None = None, env: ToyEnv | None = None, steps: int = 7) -> EpisodeEnd:
    env = env or ToyEnv()
    return run_episode(env, policy or ToyPolicy(), ToyOperator(env), max_steps=steps, seed=0, listeners=[live])


def ticking(seconds: Iterator[float]) -> Callable[[], float]:
    """A clock whose every second call is later by the next number: how long each score takes."""
    now, calls = 0.0, 0

    def clock() -> float:
        nonlocal now, calls
        calls += 1
        now += next(seconds) if calls % 2 == 0 else 0.0
        return now

    return clock


@pytest.mark.parametrize(("action", "every_frame", "scored"), [
    ("noise", False, [0, 2, 4, 6]),
    ("chunk", False, [0, 2, 4, 6]),
    ("step", True, [0, 1, 2, 3, 4, 5, 6]),
    ("none", True, [0, 1, 2, 3, 4, 5, 6]),
])  # fmt: skip
def test_decisions_or_steps_by_what_the_reward_reads(action: str, every_frame: bool, scored: list[int]) -> None:
    live = LiveScore(model_for(action), budget_s=60)
    assert live.needs_every_frame == every_frame
    run(live, ToyPolicy(wrong=True))
    assert [score.index for score in live.scores] == scored
    assert live.newest == live.scores[-1]
    assert live.flags == []


def test_the_clock_is_the_one_the_reward_was_fitted_with(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_for("none", progress=True, horizon_steps=20)
    live, clocks, numbers = LiveScore(model, budget_s=60), [], model.numbers

    def spy(state: object, action: object, progress: np.ndarray) -> torch.Tensor:
        clocks.append(float(progress[0]))
        return numbers(state, action, progress)

    monkeypatch.setattr(model, "numbers", spy)
    run(live, ToyPolicy(wrong=True), steps=3)
    assert clocks[1:] == pytest.approx([0.0, 1 / 20, 2 / 20])  # the first call warms up


def test_a_score_is_what_the_model_says_of_that_moment() -> None:
    model = model_for("step", temperature=2.0)
    live = LiveScore(model, budget_s=60)
    env = ToyEnv()
    run(live, env=env, steps=1)
    again = ToyEnv()
    again.reset(0)
    seen, policy = again.observe(), ToyPolicy()
    policy.reset(0)
    frames = {role: frame[None] for role, frame in seen.frames.items()}
    inputs = model.inputs(frames, seen.state[None], policy.act(seen)[:1])
    logit = model.logits(inputs).item()
    assert live.newest is not None
    assert live.newest.logit == pytest.approx(logit, rel=1e-5)
    assert live.newest.clipped == pytest.approx(np.clip(logit, -0.05, 0.05))
    assert live.newest.probability == pytest.approx(model.probability(inputs).item(), rel=1e-5)
    assert live.newest.time_s == seen.state_time_s


def test_late_scores_are_flagged_and_not_passed_on() -> None:
    live = LiveScore(model_for("none"), budget_s=0.05, clock=ticking(iter([0.01, 0.2, 0.2, 0.01, 0.2, 0.01, 0.2])))
    run(live, ToyPolicy(wrong=True))
    assert [score.index for score in live.scores] == [0, 3, 5]
    assert [(flag.index, flag.reason) for flag in live.flags] == [(1, "late"), (2, "late"), (4, "late"), (6, "late")]
    assert live.newest is not None
    assert live.newest.index == 5
    assert live.latency_ms() == pytest.approx((200.0, 200.0))


def test_a_network_that_says_nan_is_flagged_and_never_passed_on() -> None:
    model = model_for("none")
    live = LiveScore(model, budget_s=60)
    torch.nn.init.constant_(model.head[-1].bias, float("nan"))
    run(live, ToyPolicy(wrong=True))
    assert live.newest is None
    assert live.scores == []
    assert {flag.reason for flag in live.flags} == {"not finite"}
    assert live.mean_probability is None


def test_a_reading_that_is_not_finite_is_flagged_and_never_passed_on() -> None:
    """The loop ends such an episode; whoever hands steps on without it gets no score for them."""

    class Torn:
        needs_every_frame = True

        def on_start(self, start: EpisodeStart) -> None:
            live.on_start(start)

        def on_step(self, step: Step) -> None:
            torn = np.full_like(step.observation.state, np.nan) if step.index > 3 else step.observation.state
            live.on_step(replace(step, observation=replace(step.observation, state=torn)))  # type: ignore[type-var]

        def on_end(self, end: EpisodeEnd) -> None:
            live.on_end(end)

    live, env = LiveScore(model_for("none"), budget_s=60), ToyEnv()
    run_episode(env, ToyPolicy(wrong=True), ToyOperator(env), max_steps=7, seed=0, listeners=[Torn()])
    assert [score.index for score in live.scores] == [0, 1, 2, 3]
    assert [flag.reason for flag in live.flags] == ["not finite"] * 3
    assert live.newest == live.scores[-1]


@pytest.mark.parametrize(
    ("cameras", "says"),
    [
        ({"wrist": (32, 32)}, "no camera front"),
        ({"front": (32, 32), "wrist": (16, 16)}, "camera wrist gives 16x16"),
        ({"front": (32, 32), "wrist": (32, 32), "top": (8, 8)}, "unknown camera top"),
    ],
)
def test_other_cameras_are_refused_before_anything_moves(cameras: dict[str, tuple[int, int]], says: str) -> None:
    env = ToyEnv(ToySpec(cameras=cameras))
    with pytest.raises(CheckpointError, match=says):
        run(LiveScore(model_for("none")), env=env)
    assert np.array_equal(env.target, env.q)


def test_noise_cannot_be_scored_when_a_script_acts() -> None:
    policy = ToyPolicy()
    policy.source = "script"
    with pytest.raises(CheckpointError, match="a script has none"):
        run(LiveScore(model_for("noise")), policy)


def test_a_step_of_a_human_has_no_noise_and_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    live = LiveScore(model_for("noise"), budget_s=60)
    usual = live.on_step
    monkeypatch.setattr(live, "on_step", lambda step: usual(replace(step, latent=None) if step.index == 2 else step))
    run(live)
    assert [score.index for score in live.scores] == [0, 4, 6]
    assert [(flag.index, flag.reason) for flag in live.flags] == [(2, "no noise")]


def test_each_episode_starts_without_the_scores_of_the_last() -> None:
    live = LiveScore(model_for("none"), budget_s=60)
    run(live, ToyPolicy(wrong=True))
    first = len(live.times_ms)
    run(live, ToyPolicy(wrong=True), steps=3)
    assert len(live.scores) == 3
    assert len(live.times_ms) == first + 3
    assert live.mean_probability == pytest.approx(np.mean([score.probability for score in live.scores]))


def test_features_of_the_policy_are_used_instead_of_looking_again() -> None:
    model = model_for("none")
    given = LiveScore(model, budget_s=60, features_of=lambda step: np.zeros(64, np.float32))
    looks = LiveScore(model, budget_s=60)
    run(given, steps=1)
    run(looks, steps=1)
    assert isinstance(given.newest, Score)
    assert isinstance(looks.newest, Score)
    assert given.newest.logit != looks.newest.logit


def test_before_the_first_score_there_is_no_latency() -> None:
    assert LiveScore(model_for("none")).latency_ms() == (0.0, 0.0)


def test_sigmoid_without_overflow() -> None:
    assert [sigmoid(x) for x in (-1000.0, 0.0, 1000.0)] == [0.0, 0.5, 1.0]
    assert np.isnan(sigmoid(float("nan")))
