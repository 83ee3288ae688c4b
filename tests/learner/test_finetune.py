import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learner_toys import MAX_STEPS, NoisePilot, ToySteered, toy_reward, toy_workplace
from toys import ToyEnv, ToyOperator

from svm_robot.data.journal import read_journal
from svm_robot.errors import CheckpointError, ConfigError
from svm_robot.learner import checkpoint
from svm_robot.learner.config import FinetuneConfig
from svm_robot.learner.experience import DecisionCollector, RewardInputs
from svm_robot.learner.finetune import STOPPED, Finetuner
from svm_robot.learner.pilot import load_pilot
from svm_robot.learner.sac import SacConfig
from svm_robot.report.runs import read_run
from svm_robot.rollout import run_episode

SAC = SacConfig(hidden=32, learning_rate=2e-3, alpha=0.05, target_entropy=-3.0)
CONFIG: dict[str, Any] = {
    "steps": 260,
    "warmup_episodes": 8,
    "min_successes": 1,
    "updates_per_decision": 1.5,
    "batch": 32,
    "fit_first": 30,
    "fit_steps": 3,
    "fit_batch": 32,
    "eval_every": 100,
    "eval_episodes": 4,
    "baseline_episodes": 4,
    "final_episodes": 4,
    "sac": SAC,
}
LEARNING: dict[str, Any] = {
    "steps": 600,
    "warmup_episodes": 10,
    "updates_per_decision": 4.0,
    "fit_first": 100,
    "eval_every": 200,
    "eval_episodes": 10,
    "baseline_episodes": 10,
    "final_episodes": 10,
}


def finetuner(run: Path, work: dict[str, Any] | None = None, **changes: Any) -> Finetuner:
    return Finetuner(toy_workplace(**(work or {})), FinetuneConfig(**CONFIG | changes), run)


def weights(tuner: Finetuner) -> dict[str, torch.Tensor]:
    learner = tuner.learner
    found = {"actor": learner.sac.actor_weights.flat, "critics": learner.sac.critic_weights.flat}
    found |= {"targets": learner.sac.target_weights.flat, "log_alpha": learner.sac.log_alpha}
    return found | {f"f.{name}": weight for name, weight in learner.reward.head.state_dict().items()}


class StopAfter:
    """Ctrl-C after so many control steps."""

    needs_every_frame = False

    def __init__(self, steps: int) -> None:
        self.left = steps

    def on_start(self, start: object) -> None: ...

    def on_step(self, step: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def on_end(self, end: object) -> None: ...


@pytest.mark.slow
@pytest.mark.parametrize("shaping", ["svm", "outcome"])
def test_it_learns_to_steer(tmp_path: Path, shaping: str) -> None:
    tuner = finetuner(tmp_path / "run", shaping=shaping, **LEARNING)
    tuner.prepare()
    result = tuner.run()
    assert result.reason == "budget"
    assert result.final is not None
    base = read_journal(tmp_path / "run", "baseline")
    assert [event["noise"] for event in base] == ["sampled", "zero"]
    assert base[1]["successes"] == 0
    assert result.final.successes >= 9
    assert result.final.successes > base[0]["successes"]


def test_a_run_tells_its_story(tmp_path: Path) -> None:
    """Everything the report reads is there, in one short run; the policy it leaves can be loaded."""
    run = tmp_path / "run"
    tuner = finetuner(run)
    tuner.prepare()
    result = tuner.run()
    story = read_run(run)
    assert (story.shaping, story.seed, story.state) == ("svm", 0, "finished")
    assert story.env_steps == result.env_steps == sum(point.steps for point in story.episodes)
    assert story.robot_minutes == pytest.approx(result.env_steps / 10 / 60)
    assert story.evaluations[-1].env_steps == result.env_steps
    assert story.final is not None
    assert story.learner[-1].updates == tuner.learner.sac.updates
    assert story.learner[0].kl_nats > 0
    acted = read_journal(run, "episode")
    assert all(event["own"] == (event["env_steps"] > story.learner[0].env_steps) for event in acted)
    assert np.isfinite(story.discriminator[-1].visitation_gap_nats)
    assert {point.outcome for point in story.episodes} == {"success", "failure"}
    end = read_journal(run, "end")[0]
    assert set(end["seconds_by_stage"]) >= {"rollout", "policy", "discriminator", "evaluation"}
    assert result.best is not None
    pilot = load_pilot(run / "best")
    assert pilot(np.zeros(3, np.float32)).shape == (2,)
    assert (run / "best" / "config.json").is_file()
    assert len(checkpoint.checkpoints(run)) == 2
    assert len(list((run / "policies").iterdir())) <= 2


def test_resumed_is_bit_equal_to_uninterrupted(tmp_path: Path) -> None:
    whole = finetuner(tmp_path / "whole", baseline_episodes=0)
    whole.prepare()
    whole.run()
    for steps in (1, 205):  # in the first episode, and after the actor took over
        run = tmp_path / f"cut{steps}"
        broken = finetuner(run, baseline_episodes=0)
        broken.prepare()
        with pytest.raises(KeyboardInterrupt):
            broken.run([StopAfter(steps)])
        assert read_journal(run, "end")[-1]["reason"] == "stopped by Ctrl-C"
        again = finetuner(run, baseline_episodes=0, work={"reward": toy_reward(seed=0)})
        again.prepare(resume=True)
        again.run()
        for name, weight in weights(whole).items():
            assert torch.equal(weight, weights(again)[name]), (steps, name)
        assert again.counters.env_steps == whole.counters.env_steps
        told = [(e.env_steps, e.successes, e.mean_steps) for e in read_run(run).evaluations]
        assert told == [(e.env_steps, e.successes, e.mean_steps) for e in read_run(tmp_path / "whole").evaluations]


def test_both_rewards_see_the_same_warm_up_and_start_from_the_same_critics(tmp_path: Path) -> None:
    tuners = {name: finetuner(tmp_path / name, shaping=name, steps=170) for name in ("svm", "outcome")}
    before = {name: weights(tuner)["critics"].clone() for name, tuner in tuners.items()}
    assert torch.equal(before["svm"], before["outcome"])
    for tuner in tuners.values():
        tuner.prepare()
        tuner.run()
    first, second = (tuner.learner.replay.columns["vector"][:40] for tuner in tuners.values())
    assert torch.equal(first, second)
    assert not torch.equal(weights(tuners["svm"])["critics"], weights(tuners["outcome"])["critics"])


def test_offline_episodes_are_in_from_the_first_step(tmp_path: Path) -> None:
    work = toy_workplace()
    policy = ToySteered(NoisePilot())
    collector = DecisionCollector(policy, RewardInputs(work.reward, MAX_STEPS))
    offline = []
    for seed in range(12):
        run_episode(work.env, policy, work.operator, max_steps=MAX_STEPS, seed=seed, listeners=[collector])
        assert collector.episode is not None
        offline.append(collector.episode)
    used = sum(episode.steps for episode in offline)
    tuner = finetuner(tmp_path / "run", steps=used + 40)
    tuner.prepare(offline)
    tuner.run()
    run = read_run(tmp_path / "run")
    assert run.about["offline_steps"] == used
    assert run.learner[0].env_steps == used  # learned before the first own step
    assert run.episodes[0].env_steps == used + run.episodes[0].steps
    assert all(event["own"] for event in read_journal(tmp_path / "run", "episode"))
    assert read_journal(tmp_path / "run", "discriminator")[0]["auc_recent"] is None  # nothing was foreseen yet
    assert all(scored.own for scored in tuner.learner.prequential.scored)
    assert sum(kept.offline for kept in tuner.learner.replay.episodes) == 12


def test_the_base_keeps_acting_until_it_has_succeeded_often_enough(tmp_path: Path) -> None:
    tuner = finetuner(tmp_path / "run", min_successes=10_000, steps=200)
    tuner.prepare()
    result = tuner.run()
    assert "never gave" in result.reason
    assert result.final is None
    assert tuner.learner.sac.updates == 0
    assert not any(event["own"] for event in read_journal(tmp_path / "run", "episode"))


def test_without_failures_there_is_no_bonus(tmp_path: Path) -> None:
    class Kind(ToyOperator):
        def poll(self, step: Any) -> str | None:
            return "success" if step.index == 3 else None

    env = ToyEnv()
    tuner = finetuner(tmp_path / "run", {"env": env, "operator": Kind(env)}, steps=60, step_cost=0.0)
    tuner.prepare()
    tuner.run()
    assert tuner.learner.replay.count("failure") == 0  # type: ignore[arg-type]
    means = [event["reward_mean"] for event in read_journal(tmp_path / "run", "learner")]
    assert means
    assert all(-1 <= mean <= 0 for mean in means)
    assert {event["loss"] for event in read_journal(tmp_path / "run", "discriminator")} == {None}


def test_rewards_believe_a_logit_no_more_than_its_temperature(tmp_path: Path) -> None:
    def rewards(temperature: float) -> torch.Tensor:
        tuner.learner.reward.config.temperature = temperature
        replay = tuner.learner.replay
        sample = replay.at(replay.sample_rows(64, torch.Generator().manual_seed(0)))
        return tuner.learner.rewards(sample) - sample.reward_batch.outcome

    tuner = finetuner(tmp_path / "run", steps=400)
    tuner.prepare()
    tuner.run()
    assert tuner.learner.has_both
    assert torch.allclose(rewards(80.0), rewards(40.0) / 2, atol=1e-6)
    temperatures = [event["temperature"] for event in read_journal(tmp_path / "run", "learner")]
    assert all(temperature >= 1 for temperature in temperatures)


def test_a_resumed_run_goes_on_with_the_temperature_it_had(tmp_path: Path) -> None:
    tuner = finetuner(tmp_path / "run", steps=400)
    tuner.prepare()
    tuner.run()
    asked = tuner.learner.prequential.temperature(tuner.learner.held_out_temperature)
    again = finetuner(tmp_path / "run", steps=500)
    again.prepare(resume=True)
    assert again.learner.reward.config.temperature == asked
    raw = finetuner(tmp_path / "raw", steps=400, calibrate=False)
    assert raw.learner.temperature == 1.0


def test_unsure_and_aborted_episodes_train_nothing(tmp_path: Path) -> None:
    class Doubtful(ToyOperator):
        def outcome(self) -> str:
            return "unsure"

        def poll(self, step: Any) -> str | None:
            return "aborted" if self.env.q[0] < -45 else None

    env = ToyEnv()
    tuner = finetuner(tmp_path / "run", {"env": env, "operator": Doubtful(env)}, steps=100, baseline_episodes=0)
    tuner.prepare()
    tuner.run()
    assert {point.outcome for point in read_run(tmp_path / "run").episodes} == {"unsure", "aborted"}
    assert len(tuner.learner.replay) == 0


def test_an_operator_can_stop_and_go_on(tmp_path: Path) -> None:
    class Tired(ToyOperator):
        def wants_to_stop(self) -> bool:
            return True

    env = ToyEnv()
    tuner = finetuner(tmp_path / "run", {"env": env, "operator": Tired(env)})
    tuner.prepare()
    assert tuner.run().reason == STOPPED
    assert not read_journal(tmp_path / "run", "baseline")
    again = finetuner(tmp_path / "run", steps=60)
    again.prepare(resume=True)
    assert again.run().reason.startswith("the base never gave")


def test_stop_while_the_scene_is_prepared_starts_no_episode(tmp_path: Path) -> None:
    class Quits(ToyOperator):
        stopped = False

        def begin(self, episode: int) -> None:
            self.stopped = episode == 2

        def wants_to_stop(self) -> bool:
            return self.stopped

    env = ToyEnv()
    tuner = finetuner(tmp_path / "run", {"env": env, "operator": Quits(env)}, baseline_episodes=0)
    tuner.prepare()
    result = tuner.run()
    assert result.reason == STOPPED
    assert [point.episode for point in read_run(tmp_path / "run").episodes] == [0, 1]
    again = finetuner(tmp_path / "run", baseline_episodes=0)
    again.prepare(resume=True)
    assert again.run().reason == "budget"
    numbers = [point.episode for point in read_run(tmp_path / "run").episodes]
    assert numbers == list(range(len(numbers)))


def test_a_stop_in_the_last_evaluation_is_no_finished_run(tmp_path: Path) -> None:
    class Leaves(ToyOperator):
        stopped = False

        def begin(self, episode: int) -> None:
            self.stopped = tuner.counters.env_steps >= tuner.config.steps

        def wants_to_stop(self) -> bool:
            return self.stopped

    env = ToyEnv()
    work = {"env": env, "operator": Leaves(env)}
    tuner = finetuner(tmp_path / "run", work, steps=200, eval_every=1000, baseline_episodes=0)
    tuner.prepare()
    assert tuner.run().reason == STOPPED
    assert tuner.counters.started
    assert not read_run(tmp_path / "run").evaluations
    again = finetuner(tmp_path / "run", steps=200, eval_every=1000, baseline_episodes=0)
    again.prepare(resume=True)
    assert again.run().final is not None


@pytest.mark.parametrize("by_key", [True, False])
def test_stopped_during_the_baselines_it_can_be_resumed(tmp_path: Path, by_key: bool) -> None:
    """A person stops early, long before the first episode; the run goes on as if nothing had happened."""

    class Leaves(ToyOperator):
        begun = 0

        def begin(self, episode: int) -> None:
            self.begun += 1
            if self.begun == 6 and not by_key:
                raise KeyboardInterrupt

        def wants_to_stop(self) -> bool:
            return self.begun >= 6

    env, run = ToyEnv(), tmp_path / "run"
    tuner = finetuner(run, {"env": env, "operator": Leaves(env)})
    tuner.prepare()
    if by_key:
        assert tuner.run().reason == STOPPED
    else:
        with pytest.raises(KeyboardInterrupt):
            tuner.run()
    assert set(read_run(run).baselines) == {"sampled"}
    again = finetuner(run)
    again.prepare(resume=True)
    again.run()
    assert set(read_run(run).baselines) == {"sampled", "zero"}
    whole = finetuner(tmp_path / "whole")
    whole.prepare()
    whole.run()
    for name, weight in weights(whole).items():
        assert torch.equal(weight, weights(again)[name]), name


def test_an_existing_run_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="--resume"):
        finetuner(tmp_path / "run").prepare()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_resume_names_what_is_missing_or_changed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(CheckpointError, match="no checkpoint"):
        finetuner(run).prepare(resume=True)
    assert not run.exists()
    tuner = finetuner(run, steps=60, baseline_episodes=0)
    tuner.prepare()
    tuner.run()
    lines = (run / "journal.jsonl").read_text()
    with pytest.raises(CheckpointError, match=r"shaping was svm, is outcome; lam was 0\.2, is 0\.3"):
        finetuner(run, steps=60, baseline_episodes=0, shaping="outcome", lam=0.3).prepare(resume=True)
    with pytest.raises(CheckpointError, match="policy was toy, is other"):
        other = {"identity": {"policy": "other", "reward": "toy"}}
        finetuner(run, other, steps=60, baseline_episodes=0).prepare(resume=True)
    assert (run / "journal.jsonl").read_text() == lines


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    run = tmp_path / "run"
    tuner = finetuner(run, steps=60, baseline_episodes=0)
    tuner.prepare()
    tuner.run()
    newest = checkpoint.checkpoints(run)[-1]
    damaged = newest / checkpoint.WEIGHTS
    damaged.write_bytes(damaged.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"learner\.pt: damaged"):
        finetuner(run, steps=60, baseline_episodes=0).prepare(resume=True)
    shutil.rmtree(newest)  # the one before it is whole
    finetuner(run, steps=60, baseline_episodes=0).prepare(resume=True)
    state = checkpoint.checkpoints(run)[-1] / checkpoint.STATE
    state.write_text(json.dumps({"version": 9}))
    with pytest.raises(CheckpointError, match="not a checkpoint of version"):
        checkpoint.load_state(run)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shaping", "magic"), ("steps", 0), ("lam", -1.0), ("offline_share", 1.5), ("batch", 0), ("seed", -1)],
)
def test_wrong_settings_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name.replace("lam", "lambda")):
        FinetuneConfig(**{name: value})
