"""The evaluation core: what counts, what repeats, what stops."""

import pytest
import toys

from svm_robot.errors import ConfigError
from svm_robot.rollout.evaluate import Evaluation, evaluate, evaluation_seeds
from svm_robot.stats import wilson


class Scripted(toys.ToyOperator):
    """Gives the outcomes it was told, one per episode, at the first step."""

    def __init__(self, verdicts: list[str], stop_after: int | None = None) -> None:
        self.verdicts, self.stop_after, self.begun, self.said = verdicts, stop_after, [], 0

    def begin(self, episode: int) -> None:
        self.begun.append(episode)

    def poll(self, step: object) -> str | None:
        self.said += 1
        return self.verdicts[self.begun[-1]]

    def wants_to_stop(self) -> bool:
        return self.stop_after is not None and self.said >= self.stop_after


def run(policy: toys.ToyPolicy, seed: int = 0, episodes: int = 4, max_steps: int = 40) -> Evaluation:
    env = toys.ToyEnv()
    return evaluate(env, policy, toys.ToyOperator(env), episodes=episodes, seed=seed, max_steps=max_steps)


def test_a_good_policy_succeeds_and_a_wrong_one_never_does() -> None:
    good, wrong = run(toys.ToyPolicy()), run(toys.ToyPolicy(wrong=True), max_steps=7)
    assert (good.successes, good.episodes, good.interval) == (4, 4, wilson(4, 4))
    assert (wrong.successes, wrong.rate, wrong.mean_steps, wrong.steps) == (0, 0.0, 7.0, 28)


def test_unsure_and_aborted_episodes_are_in_no_rate() -> None:
    env = toys.ToyEnv()
    operator = Scripted(["success", "unsure", "failure", "aborted"])
    result = evaluate(env, toys.ToyPolicy(), operator, episodes=4, seed=0, max_steps=5)
    assert (result.successes, result.episodes, result.undecided) == (1, 2, 2)
    assert operator.begun == [0, 1, 2, 3]
    assert "1/2" in str(result) and "2 undecided" in str(result)


def test_the_operator_can_stop_early() -> None:
    env = toys.ToyEnv()
    operator = Scripted(["success"] * 9, stop_after=2)
    result = evaluate(env, toys.ToyPolicy(), operator, episodes=9, seed=0, max_steps=5)
    assert (result.episodes, result.stopped) == (2, True)
    assert result.to_json()["stopped"] is True


def test_stopping_while_the_scene_is_prepared_runs_no_episode() -> None:
    env, operator = toys.ToyEnv(), Scripted(["success"] * 3, stop_after=9)
    operator.wants_to_stop = lambda: len(operator.begun) == 2  # type: ignore[method-assign]
    result = evaluate(env, toys.ToyPolicy(), operator, episodes=3, seed=0, max_steps=5)
    assert (operator.begun, result.episodes, result.stopped) == ([0, 1], 1, True)


def test_same_seed_same_starts_and_another_seed_other_starts() -> None:
    assert evaluation_seeds(3, 10)[:4] == evaluation_seeds(3, 4)
    assert not set(evaluation_seeds(3, 50)) & set(evaluation_seeds(4, 50))
    assert run(toys.ToyPolicy(), seed=5) == run(toys.ToyPolicy(), seed=5)


@pytest.mark.parametrize(("episodes", "seed"), [(0, 0), (-3, 0), (2, -1)])
def test_nonsense_is_refused(episodes: int, seed: int) -> None:
    with pytest.raises(ConfigError, match="must"):
        run(toys.ToyPolicy(), seed=seed, episodes=episodes)
