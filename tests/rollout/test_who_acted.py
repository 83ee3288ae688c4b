"""Who acted at each step, also when a person takes over; and what is not acted on."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from toys import ToyEnv, ToyOperator, ToyPolicy

from svm_robot.data import columns, load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.errors import DeviceError, UnsafeActionError
from svm_robot.recording.recorder import Recorder
from svm_robot.rollout import Outcome, run_episode


class Shared(ToyPolicy):
    """A policy in chunks of four that a person takes over in steps 3 to 5. It counts the steps by listening."""

    needs_every_frame = False

    def __init__(self):
        super().__init__(chunk=4, wrong=True)
        self.step, self.asked = 0, []

    def on_start(self, start): ...

    def on_step(self, step):
        self.step = step.index + 1

    def on_end(self, end): ...

    @property
    def source(self):
        return "human" if 3 <= self.step <= 5 else "policy"

    def act(self, observation):
        self.asked.append(self.step)
        chunk = super().act(observation)
        if self.source == "human":
            self.latent = None
            return (observation.state + np.float32(3))[None]
        return chunk


class Steps:
    needs_every_frame = False

    def __init__(self):
        self.steps = []

    def on_start(self, start): ...

    def on_step(self, step):
        self.steps.append(step)

    def on_end(self, end):
        self.end = end


def test_a_take_over_drops_the_rest_of_the_chunk_at_once():
    env, heard = ToyEnv(), Steps()
    policy = Shared()
    run_episode(env, policy, ToyOperator(env), max_steps=10, listeners=[heard, policy])
    assert [step.source for step in heard.steps] == ["policy"] * 3 + ["human"] * 3 + ["policy"] * 4
    assert [step.decision for step in heard.steps] == [
        *(True, False, False),
        *(True, True, True),
        *(True, False, False, False),
    ]
    assert [step.latent is None for step in heard.steps] == [False] * 3 + [True] * 3 + [False] * 4
    assert policy.asked == [0, 3, 4, 5, 6]


def test_the_source_is_that_of_who_chose_the_action():
    """It may change while the listeners are told; the action that was sent is still the policy's."""

    class Grabs(Steps):
        def on_step(self, step):
            super().on_step(step)
            policy.grabbed = step.index == 1

    class Grabbed(ToyPolicy):
        grabbed = False

        @property
        def source(self):
            return "human" if self.grabbed else "policy"

    policy, heard, env = Grabbed(wrong=True), Grabs(), ToyEnv()
    run_episode(env, policy, ToyOperator(env), max_steps=4, listeners=[heard])
    assert [step.source for step in heard.steps] == ["policy", "policy", "human", "policy"]


def test_interventions_are_recorded_with_their_share(tmp_path):
    env = ToyEnv()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    policy = Shared()
    run_episode(env, policy, ToyOperator(env), max_steps=10, seed=0, listeners=[recorder, policy])
    recorder.close()
    rows = pq.read_table(min((tmp_path / "d").glob("data/*/*.parquet")))
    assert rows[columns.INTERVENTION].to_pylist() == [False] * 3 + [True] * 3 + [False] * 4
    assert [columns.SOURCES[index] for index in rows[columns.SOURCE].to_pylist()][2:5] == ["policy", "human", "human"]
    latents = np.stack(rows[columns.LATENT].to_pylist())
    assert not latents[3:6].any()
    assert latents[[0, 6]].all()
    assert recorder.summary.intervention_rate == pytest.approx(0.3)
    about = pq.read_table(min((tmp_path / "d").glob("meta/episodes/*/*.parquet"))).to_pylist()[0]
    assert about["svm/intervention_rate"] == pytest.approx(0.3)
    assert load_dataset(tmp_path / "d", frames=False).episodes[0].intervention.sum() == 3


def test_a_human_who_acts_throughout_does_not_intervene(tmp_path):
    class Human(ToyPolicy):
        source = "human"

    env = ToyEnv()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    run_episode(env, Human(), ToyOperator(env), max_steps=3, seed=0, listeners=[recorder])
    recorder.close()
    assert recorder.summary.intervention_rate == 0


def test_the_share_of_clipped_actions_is_told(tmp_path):
    class Wild(ToyPolicy):
        def act(self, observation):
            return super().act(observation) + np.array([[1000.0, 0.0], [0.0, 0.0]], np.float32)

    env = ToyEnv()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    run_episode(env, Wild(wrong=True), ToyOperator(env), max_steps=8, seed=0, listeners=[recorder])
    recorder.close()
    assert recorder.summary.clip_rate == pytest.approx(0.5)
    rows = pq.read_table(min((tmp_path / "d").glob("data/*/*.parquet")))
    requested, sent = (np.stack(rows[name].to_pylist()) for name in (columns.REQUESTED, columns.ACTION))
    assert rows[columns.CLIPPED].to_pylist() == [True, False] * 4
    assert (requested[::2, 0] > 900).all()
    assert (sent[::2, 0] == 100).all()
    assert np.array_equal(requested[:, 1], sent[:, 1]), "a joint that was not limited goes as asked for"


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_no_number_is_not_sent_and_ends_the_episode(tmp_path, wrong):
    class Breaks(ToyPolicy):
        def act(self, observation):
            chunk = super().act(observation)
            if observation.state_time_s > 0.35:
                chunk[1, 1] = wrong
            return chunk

    class Logs(ToyEnv):
        def __init__(self):
            super().__init__()
            self.asked = []

        def apply(self, action):
            self.asked.append(action)
            return super().apply(action)

    env = Logs()
    recorder = Recorder(tmp_path / "d", env.spec, "reach", latent_dim=2)
    recorder.open()
    with pytest.raises(UnsafeActionError, match="nothing was sent"):
        run_episode(env, Breaks(wrong=True), ToyOperator(env), max_steps=20, seed=0, listeners=[recorder])
    recorder.close()
    (episode,) = load_dataset(tmp_path / "d", frames=False).episodes
    assert (len(episode), episode.outcome) == (5, Outcome.ABORTED)
    assert np.array_equal(env.target, episode.action[-1]), "the last good target holds"
    assert "nothing was sent" in LabelLog(tmp_path / "d").entries()[0].reason


def test_nothing_acts_on_a_joint_that_reads_no_number(tmp_path):
    class Deaf(ToyEnv):
        def observe(self, frames=True):
            seen = super().observe(frames)
            if self.time_s > 0.35:
                seen.state[1] = np.inf
            return seen

    env, heard = Deaf(), Steps()
    policy = ToyPolicy(chunk=1, wrong=True)
    asked = []
    act = policy.act
    policy.act = lambda observation: (asked.append(observation), act(observation))[1]
    with pytest.raises(DeviceError, match=r"step 4: joint b\.pos reads inf"):
        run_episode(env, policy, ToyOperator(env), max_steps=20, listeners=[heard])
    assert len(asked) == len(heard.steps) == 4
    assert (heard.end.outcome, "b.pos reads inf" in heard.end.reason) == (Outcome.ABORTED, True)
