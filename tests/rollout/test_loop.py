"""The one loop that acts: chunks, verdicts, the time limit, and who is told what when something breaks."""

from collections.abc import Sequence

import numpy as np
import pytest
from toys import FloatArray, ToyEnv, ToyObservation, ToyOperator, ToyPolicy

from svm_robot.errors import StaleError, UnsafeActionError
from svm_robot.rollout import EpisodeEnd, EpisodeStart, Listener, Operator, Outcome, Policy, Step, run_episode


class Watcher:
    """Writes down what it hears; raises where it is asked to."""

    def __init__(
        self,
        name: str = "w",
        diary: list[str] | None = None,
        every: bool = False,
        fails: str = "",
        with_: object = None,
    ) -> None:
        self.name, self.needs_every_frame, self.fails = name, every, fails
        self.diary = [] if diary is None else diary
        self.error = with_ or RuntimeError(f"{name} broke")
        self.starts: list[EpisodeStart] = []
        self.steps: list[Step] = []
        self.ends: list[EpisodeEnd] = []

    def on_start(self, start: EpisodeStart) -> None:
        self.starts.append(start)
        self.heard("start")

    def on_step(self, step: Step) -> None:
        self.steps.append(step)
        self.heard(f"step {step.index}")

    def on_end(self, end: EpisodeEnd) -> None:
        self.ends.append(end)
        self.heard("end")

    def heard(self, what: str) -> None:
        self.diary.append(f"{self.name} {what}")
        if what == self.fails:
            raise self.error


class Verdicts:
    """An operator who says what the script says."""

    def __init__(self, at: dict[int, str] | None = None, at_limit: str = "failure") -> None:
        self.at, self.at_limit, self.asked = at or {}, at_limit, 0

    def begin(self, episode: int) -> None: ...

    def poll(self, step: Step) -> str | None:
        return self.at.get(step.index)

    def outcome(self) -> str:
        self.asked += 1
        return self.at_limit

    def wants_to_stop(self) -> bool:
        return False


class Counting(ToyEnv):
    """Remembers which observations had pictures; may break at the n-th."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.asked: list[bool] = []
        self.breaks_at = breaks_at
        super().__init__()

    def observe(self, frames: bool = True) -> ToyObservation:
        if len(self.asked) == self.breaks_at:
            raise StaleError("camera front is 300 ms old, allowed 200 ms")
        self.asked.append(frames)
        return super().observe(frames)


class Fixed(ToyPolicy):
    """Gives one chunk again and again."""

    def __init__(self, chunk: FloatArray) -> None:
        super().__init__()
        self.actions = chunk

    def act(self, observation: ToyObservation) -> FloatArray:
        self.latent = np.ones(2, np.float32)
        return self.actions


def run(
    env: ToyEnv | None = None,
    policy: Policy | None = None,
    operator: Operator | None = None,
    listeners: Sequence[Listener] = (),
    max_steps: int = 6,
) -> EpisodeEnd:
    return run_episode(
        env or ToyEnv(),
        policy or ToyPolicy(),
        operator or Verdicts(),
        max_steps=max_steps,
        task="both to 50",
        seed=3,
        listeners=listeners,
    )


@pytest.mark.parametrize(("chunk", "decisions"), [(1, [0, 1, 2, 3, 4, 5]), (2, [0, 2, 4]), (4, [0, 4]), (50, [0])])
def test_a_chunk_is_used_up_before_the_policy_is_asked_again(chunk: int, decisions: list[int]) -> None:
    watcher = Watcher()
    end = run(policy=ToyPolicy(chunk=chunk), listeners=[watcher])
    assert [step.index for step in watcher.steps if step.decision] == decisions
    assert end.steps == len(watcher.steps) == 6
    assert all(len(step.chunk) == chunk for step in watcher.steps)


def test_each_step_takes_its_row_of_the_chunk_and_keeps_the_latent_of_its_decision() -> None:
    actions = np.array([[1, 1], [2, 2], [3, 3]], np.float32)
    watcher = Watcher()
    run(policy=Fixed(actions), listeners=[watcher], max_steps=5)
    assert [float(step.requested[0]) for step in watcher.steps] == [1, 2, 3, 1, 2]
    assert all(step.latent is not None and step.source == "policy" for step in watcher.steps)


def test_what_is_left_of_a_chunk_does_not_reach_the_next_episode() -> None:
    env, policy, watcher = ToyEnv(), ToyPolicy(chunk=4), Watcher()
    for _ in range(2):
        run(env, policy, listeners=[watcher], max_steps=3)
    assert [step.decision for step in watcher.steps] == [True, False, False] * 2


def test_asked_and_sent_are_both_told() -> None:
    watcher = Watcher()
    run(policy=Fixed(np.array([[500, 0]], np.float32)), listeners=[watcher], max_steps=1)
    step = watcher.steps[0]
    assert step.clipped and step.requested.tolist() == [500, 0] and step.sent.tolist() == [100, 0]


def test_pictures_are_taken_only_where_the_policy_decides_and_at_the_end() -> None:
    env = Counting()
    run(env, ToyPolicy(chunk=3), listeners=[Watcher()])
    assert env.asked == [True, False, False, True, False, False, True]


def test_one_listener_that_needs_every_picture_is_enough() -> None:
    env = Counting()
    run(env, ToyPolicy(chunk=3), listeners=[Watcher(), Watcher(every=True)])
    assert env.asked == [True] * 7


@pytest.mark.parametrize("verdict", list(Outcome))
def test_a_verdict_ends_the_episode_at_once(verdict: Outcome) -> None:
    operator, watcher = Verdicts({2: str(verdict)}), Watcher()
    end = run(operator=operator, listeners=[watcher])
    assert (end.outcome, end.steps, end.reason) == (verdict, 3, f"verdict: {verdict}")
    assert end.terminated is (verdict is Outcome.SUCCESS) and end.truncated is not end.terminated
    assert operator.asked == 0, "nobody is asked twice"
    assert watcher.ends == [end]


def test_a_verdict_outlives_a_camera_that_stops_right_after_it() -> None:
    end = run(Counting(breaks_at=3), operator=Verdicts({2: "success"}))
    assert (end.outcome, end.terminated, end.steps, end.final) == (Outcome.SUCCESS, True, 3, None)
    assert end.reason == "verdict: success; no last observation: camera front is 300 ms old, allowed 200 ms"


@pytest.mark.parametrize(("said", "terminated"), [("success", True), ("failure", False), ("unsure", False)])
def test_at_the_time_limit_the_operator_is_asked_and_success_wins(said: str, terminated: bool) -> None:
    end = run(operator=Verdicts(at_limit=said))
    assert (end.outcome, end.terminated, end.truncated, end.reason) == (said, terminated, not terminated, "time limit")


def test_success_on_the_very_last_step_is_a_verdict() -> None:
    end = run(operator=Verdicts({5: "success"}), max_steps=6)
    assert end.terminated and end.reason == "verdict: success" and end.steps == 6


def test_the_final_observation_follows_the_last_action() -> None:
    watcher = Watcher()
    end = run(listeners=[watcher], max_steps=4)
    assert end.final is not None and set(end.final.frames) == {"front", "wrist"}
    assert end.final.state_time_s == pytest.approx(watcher.steps[-1].observation.state_time_s + 0.1)
    assert end.duration_s == pytest.approx(0.4)


def test_a_real_toy_episode_succeeds_and_same_seed_repeats() -> None:
    ends, states = [], []
    for _ in range(2):
        env, watcher = ToyEnv(), Watcher()
        ends.append(run(env, ToyPolicy(), ToyOperator(env), [watcher], max_steps=40))
        states.append([step.observation.state.tolist() for step in watcher.steps])
    assert ends[0].outcome is Outcome.SUCCESS and states[0] == states[1]


def test_everybody_hears_start_steps_and_end_and_the_end_in_reverse() -> None:
    diary: list[str] = []
    first = Watcher("a", diary)
    run(listeners=[first, Watcher("b", diary)], max_steps=2)
    assert diary == ["a start", "b start", "a step 0", "b step 0", "a step 1", "b step 1", "b end", "a end"]
    start = first.starts[0]
    assert (start.task, start.seed, start.source, start.spec.robot_type) == ("both to 50", 3, "policy", "toy")


class Hangup(KeyboardInterrupt):
    """A signal that is treated like Ctrl-C."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("boom"), "RuntimeError: boom"),
        (RuntimeError(), "RuntimeError"),
        (KeyboardInterrupt(), "stopped by Ctrl-C"),
        (Hangup("stopped by SIGHUP"), "stopped by SIGHUP"),
    ],
)
def test_an_error_aborts_the_episode_and_everybody_is_told(error: BaseException, reason: str) -> None:
    diary: list[str] = []
    watchers = [Watcher("a", diary), Watcher("b", diary, fails="step 1", with_=error), Watcher("c", diary)]
    with pytest.raises(type(error)) as caught:
        run(listeners=watchers)
    assert caught.value is error
    assert diary[-3:] == ["c end", "b end", "a end"]
    end = watchers[0].ends[0]
    assert (end.outcome, end.terminated, end.truncated, end.final) == (Outcome.ABORTED, False, True, None)
    assert end.reason == reason and end.steps == 2


def test_an_error_of_ours_is_its_own_reason() -> None:
    watcher = Watcher()
    with pytest.raises(StaleError):
        run(Counting(breaks_at=3), listeners=[watcher])
    assert watcher.ends[0].reason == "camera front is 300 ms old, allowed 200 ms"
    assert watcher.ends[0].steps == 3 and watcher.ends[0].duration_s == pytest.approx(0.2)


def test_a_listener_that_cannot_start_is_told_the_end_and_later_ones_never_began() -> None:
    diary: list[str] = []
    with pytest.raises(RuntimeError, match="b broke"):
        run(listeners=[Watcher("a", diary), Watcher("b", diary, fails="start"), Watcher("c", diary)])
    assert diary == ["a start", "b start", "b end", "a end"]


@pytest.mark.parametrize("second", [RuntimeError("disk full"), KeyboardInterrupt("again")])
def test_the_first_error_is_raised_and_later_ones_are_notes(second: BaseException) -> None:
    diary: list[str] = []
    broken = Watcher("b", diary, fails="end", with_=second)
    with pytest.raises(StaleError) as caught:
        run(Counting(breaks_at=1), listeners=[Watcher("a", diary), broken])
    assert caught.value.__notes__ == [f"and while ending the episode: {type(second).__name__}: {second}"]
    assert diary[-2:] == ["b end", "a end"]


def test_failures_at_a_good_end_are_raised_and_none_is_lost() -> None:
    watchers = [Watcher("a", fails="end"), Watcher("b", fails="end"), Watcher("c")]
    with pytest.raises(RuntimeError, match="b broke") as caught:
        run(listeners=watchers)
    assert caught.value.__notes__ == ["and while ending the episode: RuntimeError: a broke"]
    assert all(len(watcher.ends) == 1 and watcher.ends[0].outcome is Outcome.FAILURE for watcher in watchers)


def test_a_world_that_cannot_be_reset_starts_nothing() -> None:
    class Stuck(ToyEnv):
        def reset(self, seed: int | None = None) -> None:
            if seed is not None:
                raise StaleError("arm does not answer")
            super().reset(seed)

    watcher = Watcher()
    with pytest.raises(StaleError):
        run(Stuck(), listeners=[watcher])
    assert watcher.diary == []


@pytest.mark.parametrize("shape", [(0, 2), (2,), (1, 2, 2)])
def test_actions_of_another_shape_are_refused_before_they_are_sent(shape: tuple[int, ...]) -> None:
    env, watcher = ToyEnv(), Watcher()
    env.apply = None  # type: ignore[assignment, method-assign]
    with pytest.raises(UnsafeActionError, match=r"expected \(steps, joints\)"):
        run(env, Fixed(np.zeros(shape, np.float32)), listeners=[watcher])
    assert watcher.ends[0].steps == 0


def test_an_unknown_verdict_is_no_outcome() -> None:
    watcher = Watcher()
    with pytest.raises(ValueError, match="maybe"):
        run(operator=Verdicts({1: "maybe"}), listeners=[watcher])
    assert watcher.ends[0].outcome is Outcome.ABORTED


def test_no_steps_allowed_still_ends_properly() -> None:
    watcher = Watcher()
    end = run(listeners=[watcher], max_steps=0)
    assert end.steps == 0 and end.duration_s == 0 and watcher.diary == ["w start", "w end"]


class Rests(ToyEnv):
    """Writes down when it is told to rest, and why."""

    def __init__(self, diary: list[str], breaks: BaseException | None = None) -> None:
        self.diary, self.breaks = diary, breaks
        super().__init__()

    def rest(self, error: BaseException | None = None) -> None:
        self.diary.append(f"rest {error}")
        if self.breaks:
            raise self.breaks


class Asked(Verdicts):
    """An operator who writes down when the outcome is asked for."""

    def __init__(self, diary: list[str]) -> None:
        super().__init__()
        self.diary = diary

    def outcome(self) -> str:
        self.diary.append("asked")
        return super().outcome()


def test_the_arm_rests_before_anybody_is_asked_how_it_went() -> None:
    diary: list[str] = []
    run(Rests(diary), operator=Asked(diary), listeners=[Watcher(diary=diary)], max_steps=1)
    assert diary == ["w start", "w step 0", "rest None", "asked", "w end"]


def test_after_an_error_the_arm_is_stopped_before_anybody_saves() -> None:
    diary: list[str] = []
    with pytest.raises(RuntimeError, match="w broke"):
        run(Rests(diary), listeners=[Watcher(diary=diary, fails="step 1")])
    assert diary == ["w start", "w step 0", "w step 1", "rest w broke", "w end"]


@pytest.mark.parametrize("second", [KeyboardInterrupt(), OSError("gone")])
def test_a_stop_that_fails_keeps_nobody_from_the_end(second: BaseException) -> None:
    diary: list[str] = []
    with pytest.raises(RuntimeError, match="w broke") as first:
        run(Rests(diary, breaks=second), listeners=[Watcher(diary=diary, fails="start")])
    assert diary == ["w start", "rest w broke", "w end"]
    assert type(second).__name__ in first.value.__notes__[0]


def test_an_arm_that_cannot_reach_its_start_is_stopped_too() -> None:
    class Blocked(Rests):
        def reset(self, seed: int | None = None) -> None:
            super().reset(seed)
            if seed is not None:
                raise StaleError("blocked")

    diary: list[str] = []
    with pytest.raises(StaleError):
        run(Blocked(diary), listeners=[Watcher(diary=diary)])
    assert diary == ["rest blocked"], "an episode that never began has no end"
