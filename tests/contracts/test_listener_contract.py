"""What every listener must do, whoever it is."""

import numpy as np
import pytest
from learner_toys import MAX_STEPS, NoisePilot, ToySteered, toy_reward
from toys import ToyEnv, ToyOperator, ToyPolicy

from svm_robot.learner.experience import DecisionCollector, RewardInputs
from svm_robot.recording.recorder import Recorder
from svm_robot.report.examples import ExampleKeeper
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.live import LiveScore
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.rollout import EpisodeEnd, EpisodeStart, Outcome, run_episode


class EventList:
    """The plainest listener."""

    needs_every_frame = False

    def __init__(self):
        self.events = []

    def on_start(self, start):
        self.events.append("start")

    def on_step(self, step):
        self.events.append(step.index)

    def on_end(self, end):
        self.events.append(str(end.outcome))


def recorder(tmp_path):
    made = Recorder(tmp_path / "d", ToyEnv().spec, "reach", latent_dim=2)
    made.open()
    return made


def live_score(_):
    spec = ToyEnv().spec
    config = SvmConfig(
        joints=list(spec.joints),
        cameras={role: list(size) for role, size in spec.cameras.items()},
        action="chunk",
        chunk=2,
    )
    return LiveScore(SvmRewardModel(config), budget_s=10.0)


def collector(_):
    return DecisionCollector(ToySteered(NoisePilot()), RewardInputs(toy_reward(), MAX_STEPS))


def examples(tmp_path):
    return ExampleKeeper(tmp_path, lambda step: None, total_steps=100)


LISTENERS = {
    "events": lambda _: EventList(),
    "recorder": recorder,
    "live score": live_score,
    "collector": collector,
    "examples": examples,
}


@pytest.fixture(params=LISTENERS)
def listener(request, tmp_path):
    made = LISTENERS[request.param](tmp_path)
    yield made
    if hasattr(made, "close"):
        made.close()


def run(listener, env=None, max_steps=8, seed=0):
    env = env or ToyEnv()
    return run_episode(
        env, ToyPolicy(wrong=True), ToyOperator(env), max_steps=max_steps, seed=seed, listeners=[listener]
    )


def test_says_whether_it_needs_every_frame(listener):
    assert listener.needs_every_frame in (True, False)


def test_hears_several_episodes(listener):
    assert [run(listener, seed=seed).outcome for seed in range(3)] == [Outcome.FAILURE] * 3


def test_leaves_the_episode_as_it_was(listener):
    with_it, without = EventList(), EventList()
    env = ToyEnv()
    run_episode(env, ToyPolicy(), ToyOperator(env), max_steps=8, seed=3, listeners=[with_it, listener])
    watched = env.q.copy()
    run_episode(env, ToyPolicy(), ToyOperator(env), max_steps=8, seed=3, listeners=[without])
    assert np.array_equal(watched, env.q)
    assert with_it.events == without.events


def test_survives_an_end_without_a_step(listener):
    listener.on_start(EpisodeStart(ToyEnv().spec, "reach", 0, "policy"))
    listener.on_end(EpisodeEnd(Outcome.ABORTED, False, True, "stopped", 0, 0.0, None))
    assert run(listener).steps == 8


def test_survives_an_episode_that_broke_and_hears_the_next(listener):
    class Breaks(ToyEnv):
        def apply(self, action):
            if self.time_s > 0.25:
                raise KeyboardInterrupt
            return super().apply(action)

    with pytest.raises(KeyboardInterrupt):
        run(listener, Breaks())
    assert run(listener).steps == 8


def test_does_not_change_what_it_is_shown(listener):
    shown = []

    class Remembers(ToyEnv):
        def observe(self, frames=True):
            seen = super().observe(frames)
            shown.extend((array, array.copy()) for array in (seen.state, *seen.frames.values()))
            return seen

    assert run(listener, Remembers()).steps == 8
    assert all(np.array_equal(array, copy) for array, copy in shown)


def test_takes_frames_only_where_the_policy_decides_unless_it_asked_for_more(listener):
    class Counts(ToyEnv):
        with_frames = 0

        def observe(self, frames=True):
            self.with_frames += frames
            return super().observe(frames)

    env = Counts()
    run(listener, env)
    assert env.with_frames == (9 if listener.needs_every_frame else 5)
