"""The algorithm: one episode, into D+ or D- by its label, discriminator steps, policy steps, checkpoint; again.

    1. N0 episodes of the base (recorded ones count) fill D+ and D-; fit f
    2. repeat: ONE episode with the current policy; append it to D+ or D-; update f on both; update the policy with RL
       on rewards computed at sampling time; save everything
Every ``eval_every`` control steps the deterministic policy is evaluated, and the best one is kept.
"""

from collections.abc import Sequence
from math import ceil
from pathlib import Path

import numpy as np

from svm_robot.data.journal import Journal
from svm_robot.errors import CheckpointError, ConfigError
from svm_robot.learner import checkpoint
from svm_robot.learner.config import FinetuneConfig
from svm_robot.learner.counters import Counters
from svm_robot.learner.decisions import DecisionEpisode
from svm_robot.learner.diary import Diary
from svm_robot.learner.experience import DecisionCollector, RewardInputs
from svm_robot.learner.identity import changes, identity
from svm_robot.learner.learner import Learner
from svm_robot.learner.pilot import ActorPilot, Pilot, load_pilot
from svm_robot.learner.shelf import Shelf, better
from svm_robot.learner.workplace import Result, Workplace
from svm_robot.rollout import EpisodeEnd, Listener, run_episode
from svm_robot.rollout.evaluate import Evaluation, evaluate

STOPPED = "stopped by the operator"
_STREAM = 0xF17E
"""Keeps the starts of training episodes apart from those of recordings and evaluations."""
_FRESH = 10_000
"""Added to the seed for starts on which no choice was made: baselines and the final check."""


class Finetuner:
    """One run in one folder: ``prepare`` starts or resumes it, ``run`` does the work."""

    def __init__(self, work: Workplace, config: FinetuneConfig, run: Path) -> None:
        self.work, self.config, self.folder = work, config, run
        self.counters = Counters()
        self.diary = Diary(Journal(run), self.counters, work.env.spec.rate_hz)
        self.shelf = Shelf(run, work.save_policy, work.max_steps)
        decisions = ceil(work.max_steps / work.chunk)
        self.learner = Learner(config, work.reward, work.vector_dim, work.latent_dim, decisions)
        self.inputs = RewardInputs(work.reward, work.max_steps, work.shared_features)
        self.listeners: Sequence[Listener] = ()

    def prepare(self, offline: Sequence[DecisionEpisode] = (), resume: bool = False) -> None:
        """Take in offline episodes, or go back to the newest checkpoint. When refused, nothing was written."""
        if resume:
            self._resume()
            self.diary.run(self.config, self.work, self.learner.critic_start)
            return
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ConfigError(f"{self.folder} already exists; continue that run with --resume, or choose another --run")
        self.counters.offline_steps = self.counters.env_steps = sum(episode.steps for episode in offline)
        self.counters.next_eval = self.counters.grid_point(self.config.eval_every)
        self.diary.run(self.config, self.work, self.learner.critic_start)
        for episode in offline:
            self._take(episode.as_offline(), own=False)
        self._save()  # from here on the run can be resumed

    def run(self, listeners: Sequence[Listener] = ()) -> Result:
        """Work until the budget is used or the operator stops. Ctrl-C and faults leave the newest checkpoint behind.

        ``listeners`` hear the training episodes.
        """
        self.listeners = listeners
        try:
            result = self._work()
        except KeyboardInterrupt:
            self._end("stopped by Ctrl-C")
            raise
        except Exception as error:
            self._end(f"{type(error).__name__}: {error}")
            raise
        self._end(result.reason)
        return result

    def _end(self, reason: str) -> None:
        self.diary.end(reason, self.work.live_score_ms())

    def _work(self) -> Result:
        counters = self.counters
        if not counters.prepared and self._baselines():
            self._begin_steering(recorded_here=False)
            counters.prepared = True
            self._save()
        while True:
            used_up = counters.env_steps >= self.config.steps
            if counters.evaluation_is_due(used_up):
                self._evaluate()
                self._save()
            if self.work.operator.wants_to_stop():
                return Result(STOPPED, counters.env_steps, counters.best, None)
            if used_up:
                return self._finish()
            if self._episode():
                self._save()

    def _episode(self) -> bool:
        """One episode, its label, and what is learned from it; False when the operator stopped before it began."""
        pilot: Pilot = (
            ActorPilot(self.learner.sac.actor, True, self.work.max_steps) if self.counters.started else self.work.base
        )
        policy = self.work.steer(pilot)
        collector = DecisionCollector(policy, self.inputs)
        begin = self.work.clock()
        with self.counters.timed("rollout", self.work.clock):
            self.work.operator.begin(self.counters.episode)
            if self.work.operator.wants_to_stop():  # said while the scene was prepared
                return False
            end = run_episode(
                self.work.env,
                policy,
                self.work.operator,
                max_steps=self.work.max_steps,
                task=self.work.task,
                seed=episode_seed(self.config.seed, self.counters.episode),
                listeners=[*self.listeners, collector],
            )
        self.counters.env_steps += end.steps
        self._learn(end, collector.episode, self.work.clock() - begin)
        self.counters.episode += 1
        return True

    def _learn(self, end: EpisodeEnd, episode: DecisionEpisode | None, seconds: float) -> None:
        own = self.counters.started  # this episode; the steps below may start the actor
        if episode is None or not episode.trains:
            self.diary.episode(end, own, [], seconds)
            return
        logits = self._take(episode, own)
        if own:
            self._update(self.config.fit_steps, len(episode), None)
        else:
            self._begin_steering(recorded_here=True)
        self.diary.episode(end, own, logits, seconds)

    def _take(self, episode: DecisionEpisode, own: bool) -> list[float]:
        """Into D+ or D-, in memory and on disk."""
        number = len(self.learner.replay.episodes)
        logits = self.learner.add(episode, own)
        if len(self.learner.replay.episodes) > number:
            checkpoint.save_episode(self.folder, number, episode)
        return logits

    def _begin_steering(self, recorded_here: bool) -> None:
        """Once the warm-up is complete, learn from all of it. A reward that was fitted on it needs no first fit."""
        if not self.learner.warm:
            return
        self.counters.started = True
        fit_steps = self.config.fit_first if recorded_here else self.config.fit_steps
        self._update(fit_steps, len(self.learner.replay), self.config.first_updates)

    def _update(self, fit_steps: int, decisions: int, at_most: int | None) -> None:
        with self.counters.timed("discriminator", self.work.clock):
            fitted = self.learner.fit(fit_steps)
        begin = self.work.clock()
        updates = self.learner.sac.updates
        with self.counters.timed("policy", self.work.clock):
            improved = self.learner.improve(decisions, at_most)
        seconds = self.work.clock() - begin
        self.diary.discriminator(fitted, self.learner.prequential)
        self.diary.learner(improved, self.learner.sac.updates, self.learner.sac.updates - updates, seconds)

    def _baselines(self) -> bool:
        """The unchanged base with sampled and with zero noise, on the starts of the final check; False when stopped."""
        noises = (("sampled", self.work.base), ("zero", self.work.zero)) if self.config.baseline_episodes else ()
        with self.counters.timed("baseline", self.work.clock):
            for noise, pilot in noises:
                result = self._count(pilot, self.config.baseline_episodes, self.config.seed + _FRESH)
                if result.stopped:
                    return False
                self.diary.baseline(noise, result, self.config.seed + _FRESH)
                self.work.say(f"base with {noise} noise: {result}")
        return True

    def _evaluate(self) -> None:
        counters = self.counters
        with counters.timed("evaluation", self.work.clock):
            pilot = ActorPilot(self.learner.sac.actor, False, self.work.max_steps)
            result = self._count(pilot, self.config.eval_episodes, self.config.seed)
        if result.stopped:
            return
        best = better(result, counters.best)
        if best:
            counters.best = {"successes": result.successes, "episodes": result.episodes}
            counters.best |= {"mean_steps": result.mean_steps, "env_steps": counters.env_steps}
        counters.next_eval, counters.evaluated = counters.grid_point(self.config.eval_every), counters.env_steps
        self.shelf.keep(f"{counters.env_steps:06d}", self.learner.sac.actor, best)
        self.diary.evaluation(result, best)
        self.work.say(f"after {counters.env_steps} steps: {result}{', the best so far' if best else ''}")

    def _finish(self) -> Result:
        counters = self.counters
        if not counters.started:
            need = f"{self.config.warmup_episodes} labelled episodes with {self.config.min_successes} successes"
            return Result(f"the base never gave {need}; nothing was trained", counters.env_steps, None, None)
        if not self.config.final_episodes or counters.best is None:
            return Result("budget", counters.env_steps, counters.best, None)
        with counters.timed("evaluation", self.work.clock):
            pilot = load_pilot(self.shelf.best)
            final = self._count(pilot, self.config.final_episodes, self.config.seed + _FRESH)
        if final.stopped:
            return Result(STOPPED, counters.env_steps, counters.best, None)
        self.diary.final(final, counters.best)
        self.work.say(f"the kept policy on fresh episodes: {final}")
        return Result("budget", counters.env_steps, counters.best, final)

    def _count(self, pilot: Pilot, episodes: int, seed: int) -> Evaluation:
        work = self.work
        return evaluate(
            work.env,
            work.steer(pilot),
            work.operator,
            episodes=episodes,
            seed=seed,
            max_steps=work.max_steps,
            task=work.task,
        )

    def _save(self) -> None:
        with self.counters.timed("checkpoint", self.work.clock):
            self.counters.saved += 1
            state = {
                "counters": self.counters.to_json(),
                "episodes": len(self.learner.replay.episodes),
                "identity": identity(self.config, self.work),
            }
            checkpoint.save_checkpoint(
                self.folder, checkpoint.Checkpoint(self.counters.saved, self.learner.state_dict(), state)
            )

    def _resume(self) -> None:
        state = checkpoint.load_state(self.folder)
        changed = list(changes(state["identity"], identity(self.config, self.work)))
        if changed:
            raise CheckpointError(f"{self.folder} cannot be resumed, something changed: {'; '.join(changed)}")
        saved = checkpoint.load_checkpoint(self.folder)
        for episode in checkpoint.load_episodes(self.folder, state["episodes"]):
            self.learner.replay.add(episode)
        self.learner.load_state_dict(saved.weights)
        self.counters = self.diary.counters = Counters(**state["counters"])


def episode_seed(seed: int, episode: int) -> int:
    """Start of a training episode: the same for every reward form."""
    return int(np.random.SeedSequence([_STREAM, seed, episode]).generate_state(1)[0])
