import numpy as np
import pytest
import torch
from learner_toys import CHUNK, MAX_STEPS, NoisePilot, ToySteered, toy_reward
from toys import ToyEnv, ToyOperator, ToyPolicy

from svm_robot.data.episodes import EpisodeData
from svm_robot.errors import DataError
from svm_robot.learner.experience import DecisionCollector, RewardInputs, filled
from svm_robot.learner.offline import offline_episode
from svm_robot.rollout import EpisodeEnd, Listener, Outcome, Step, run_episode


class Always(NoisePilot):
    """One noise for ever."""

    def __init__(self, first: float) -> None:
        super().__init__()
        self.first = first

    def __call__(self, vector: np.ndarray) -> np.ndarray:
        return np.array([self.first, 0.5], np.float32)


class Tape:
    """Keeps every step."""

    needs_every_frame = True

    def on_start(self, start: object) -> None:
        self.steps: list[Step] = []

    def on_step(self, step: Step) -> None:
        self.steps.append(step)

    def on_end(self, end: EpisodeEnd) -> None:
        self.end = end


def collected(
    first: float, max_steps: int = MAX_STEPS, operator: object = None, **reward: object
) -> tuple[DecisionCollector, Tape]:
    env = ToyEnv()
    policy = ToySteered(Always(first))
    collector = DecisionCollector(policy, RewardInputs(toy_reward(**reward), MAX_STEPS))
    tape = Tape()
    listeners: list[Listener] = [collector, tape]
    run_episode(env, policy, operator or ToyOperator(env), max_steps=max_steps, seed=1, listeners=listeners)
    return collector, tape


def test_a_success_ends_and_a_time_out_goes_on_from_its_last_observation() -> None:
    collector, tape = collected(1.0)
    episode = collector.episode
    assert episode is not None
    assert episode.outcome is Outcome.SUCCESS
    assert episode.terminated
    assert episode.steps == len(tape.steps)
    assert len(episode) == sum(step.decision for step in tape.steps)

    collector, tape = collected(-1.0)
    episode = collector.episode
    assert episode is not None
    assert (episode.outcome, episode.terminated, episode.steps) == (Outcome.FAILURE, False, MAX_STEPS)
    assert tape.end.final is not None
    assert np.allclose(episode.vectors[-1, :2], tape.end.final.state / 50)
    assert episode.vectors[-1, 2] == 1.0


def test_rows_are_the_decisions() -> None:
    collector, tape = collected(-1.0, max_steps=5)
    episode = collector.episode
    assert episode is not None
    assert episode.step_index.tolist() == [0, 2, 4, 5]
    seen = [step.observation.state / 50 for step in tape.steps if step.decision]
    assert np.allclose(episode.vectors[:-1, :2], seen)
    assert (episode.latents == np.array([-1.0, 0.5])).all()
    assert np.allclose(episode.inputs[:, 2:], episode.latents)  # f reads normalised joints, then the noise


def test_a_fault_is_remembered_as_nothing() -> None:
    class Broken(ToyOperator):
        def poll(self, step: Step) -> str | None:
            raise RuntimeError("the arm does not answer")

    env = ToyEnv()
    policy = ToySteered(Always(1.0))
    collector = DecisionCollector(policy, RewardInputs(toy_reward(), MAX_STEPS))
    with pytest.raises(RuntimeError):
        run_episode(env, policy, Broken(env), max_steps=9, seed=1, listeners=[collector])
    assert collector.episode is None


def test_an_abort_trains_nothing() -> None:
    class Stop(ToyOperator):
        def poll(self, step: Step) -> str | None:
            return "aborted" if step.index == 3 else None

    collector, _ = collected(-1.0, operator=Stop(ToyEnv()))
    assert collector.episode is not None
    assert not collector.episode.trains


def test_the_reward_sees_what_was_sent() -> None:
    collector, tape = collected(-1.0, max_steps=5, action="chunk", chunk=CHUNK)
    sent = [step.sent for step in tape.steps]
    joints = [step.observation.state for step in tape.steps if step.decision]
    assert collector.episode is not None
    expected = [np.stack([sent[k], sent[min(k + 1, 4)]]) - joints[k // 2] for k in (0, 2, 4)]
    assert np.allclose(collector.episode.inputs[:, 2:], np.reshape(expected, (3, -1)), atol=1e-4)


def test_the_clock_is_the_one_the_reward_was_fitted_with() -> None:
    collector, _ = collected(-1.0, max_steps=5, action="none", progress=True, horizon_steps=40)
    assert collector.episode is not None
    assert collector.episode.inputs[:, -1].tolist() == pytest.approx([0.0, 2 / 40, 4 / 40])


def test_a_camera_may_reuse_its_buffer() -> None:
    class Thrifty(ToyEnv):
        buffer = np.zeros((32, 32, 3), np.uint8)

        def picture(self, height: int, width: int) -> np.ndarray:
            self.buffer[:] = super().picture(height, width)
            return self.buffer

    def seen(env: ToyEnv) -> torch.Tensor:
        policy, reward = ToySteered(Always(-1.0)), toy_reward(cameras={"front": [32, 32], "wrist": [32, 32]})
        collector = DecisionCollector(policy, RewardInputs(reward, MAX_STEPS))
        run_episode(env, policy, ToyOperator(env), max_steps=6, seed=1, listeners=[collector])
        assert collector.episode is not None
        return collector.episode.inputs

    assert torch.equal(seen(Thrifty()), seen(ToyEnv()))


def test_a_chunk_cut_short_holds_its_last_target() -> None:
    targets = np.array([[1.0, 2.0]], np.float32)
    assert np.array_equal(filled(targets, 3), [[1, 2], [1, 2], [1, 2]])
    with pytest.raises(DataError, match="chunks of 1"):
        filled(np.zeros((2, 2), np.float32), 1)


def test_a_policy_without_noise_is_refused() -> None:
    class Plain(ToySteered):
        latent = property(lambda self: None, lambda self, value: None)  # type: ignore[assignment]

        def act(self, observation: object) -> np.ndarray:
            return ToyPolicy.act(self, observation)  # type: ignore[arg-type]

    env = ToyEnv()
    policy = Plain(Always(1.0))
    policy.chunk, policy.goal, policy.rng = 2, 50.0, np.random.default_rng(0)
    collector = DecisionCollector(policy, RewardInputs(toy_reward(), MAX_STEPS))
    with pytest.raises(DataError, match="latent"):
        run_episode(env, policy, ToyOperator(env), max_steps=4, listeners=[collector])


def recorded(tape: Tape, outcome: Outcome | None, **changes: object) -> EpisodeData:
    values: dict[str, object] = {
        "index": 3,
        "uid": 1,
        "outcome": outcome,
        "task": "",
        "state": np.stack([step.observation.state for step in tape.steps]),
        "action": np.stack([step.sent for step in tape.steps]),
        "decision": np.array([step.decision for step in tape.steps]),
        "latent": np.stack([step.latent for step in tape.steps]),
        "terminated": outcome is Outcome.SUCCESS,
    }
    return EpisodeData(**values | changes)  # type: ignore[arg-type]


def vectors_of(frames: object, state: np.ndarray, progress: np.ndarray) -> np.ndarray:
    return np.concatenate([state / 50, progress[:, None]], axis=1).astype(np.float32)


@pytest.mark.parametrize("action", ["noise", "chunk", "step", "none"])
def test_a_recording_gives_the_same_decisions(action: str) -> None:
    collector, tape = collected(-1.0, max_steps=5, action=action, chunk=CHUNK)
    live = collector.episode
    assert live is not None
    inputs = RewardInputs(toy_reward(action=action, chunk=CHUNK), MAX_STEPS)
    again = offline_episode(recorded(tape, Outcome.FAILURE), vectors_of, inputs, 2)
    assert np.allclose(again.vectors[:-1], live.vectors[:-1])
    assert np.allclose(again.inputs, live.inputs, atol=1e-5)
    assert again.step_index.tolist() == live.step_index.tolist()
    assert np.array_equal(again.latents, live.latents)
    assert again.offline
    # what came after the last action is not in a recording: its last row stands in, at the right clock time
    assert np.allclose(again.vectors[-1], [*tape.steps[-1].observation.state / 50, 5 / MAX_STEPS])


def test_recordings_that_cannot_be_learned_from_are_named() -> None:
    _, tape = collected(-1.0, max_steps=5)
    inputs = RewardInputs(toy_reward(), MAX_STEPS)
    with pytest.raises(DataError, match="episode 3 has no label"):
        offline_episode(recorded(tape, None), vectors_of, inputs, 2)
    with pytest.raises(DataError, match="noise of 2 numbers needed, none recorded"):
        offline_episode(recorded(tape, Outcome.FAILURE, latent=None), vectors_of, inputs, 2)
    with pytest.raises(DataError, match="a human acted in 2 of its 5 steps"):
        human = np.array([False, True, True, False, False])
        offline_episode(recorded(tape, Outcome.FAILURE, intervention=human), vectors_of, inputs, 2)
    with pytest.raises(DataError, match="does not begin with a decision"):
        offline_episode(recorded(tape, Outcome.FAILURE, decision=np.zeros(5, bool)), vectors_of, inputs, 2)
