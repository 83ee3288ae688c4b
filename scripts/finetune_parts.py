"""The parts of a finetuning run: policy and reward from their checkpoints, joined to what the learner asks for."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

from svm_robot.data import load_dataset
from svm_robot.data.schema import check_same
from svm_robot.data.staleness import OFFLINE, trained_on
from svm_robot.errors import CheckpointError
from svm_robot.learner.config import FinetuneConfig
from svm_robot.learner.counters import Counters
from svm_robot.learner.decisions import DecisionEpisode
from svm_robot.learner.experience import RewardInputs
from svm_robot.learner.offline import offline_episode
from svm_robot.learner.pilot import Pilot
from svm_robot.learner.workplace import Workplace
from svm_robot.policies.checkpoint import check_fits as check_policy
from svm_robot.policies.checkpoint import load_flow
from svm_robot.policies.steering import GaussianPilot, SteeredPolicy, ZeroPilot
from svm_robot.report.examples import ExampleKeeper
from svm_robot.reward.checkpoint import check_fits as check_reward
from svm_robot.reward.checkpoint import load_reward
from svm_robot.reward.live import LiveScore
from svm_robot.rollout import Env, EpisodeEnd, EpisodeStart, Listener, Operator, Step
from svm_robot.rollout.env import EnvSpec
from svm_robot.scripts.cli import warn
from svm_robot.vision.encoder import fingerprint


@dataclass(frozen=True)
class Offline:
    """Recorded episodes that a run begins with."""

    episodes: Sequence[DecisionEpisode] = ()
    noted: Mapping[str, str] = field(default_factory=dict)
    """Which dataset and which labels these are, for the journal."""


@dataclass(frozen=True)
class Parts:
    """The frozen policy, the reward that goes on learning, and the score that runs beside."""

    steered: SteeredPolicy
    inputs: RewardInputs
    live: LiveScore
    names: dict[str, str]
    identity: dict[str, str]

    @classmethod
    def load(cls, policy: Path, reward: Path, max_steps: int) -> Self:
        """Read both checkpoints; pictures are encoded once when both have the same encoder."""
        flow, model = load_flow(policy), load_reward(reward)
        shared = flow.features if model.config.encoder_fingerprint == fingerprint(flow.encoder) else 0
        steered = SteeredPolicy(flow, ZeroPilot(flow.config.latent_dim), max_steps)
        features_of = (lambda step: steered.vector_of(step.observation, step.index)[:shared]) if shared else None
        return cls(
            steered=steered,
            inputs=RewardInputs(model, max_steps, shared),
            live=LiveScore(model, features_of=features_of),
            names={"policy": str(policy), "reward": str(reward)},
            identity={"policy": fingerprint(flow), "reward": fingerprint(model)},
        )

    def check(self, spec: EnvSpec) -> None:
        """``CheckpointError`` when policy or reward were made for another robot, or not for each other."""
        check_policy(self.steered.flow, spec)
        check_reward(self.inputs.reward, spec)
        reads, chunk = self.inputs.reward.config, self.steered.flow.config.chunk_size
        if reads.action == "noise" and reads.latent_dim != self.steered.dim:
            what = f"noise of {reads.latent_dim} numbers, the policy has {self.steered.dim}"
        elif reads.action == "chunk" and reads.chunk != chunk:
            what = f"chunks of {reads.chunk} control steps, the policy's have {chunk}"
        else:
            return
        raise CheckpointError(f"the reward reads {what}; fit one on episodes of this policy")

    def offline(self, root: Path, spec: EnvSpec) -> Offline:
        """Labelled episodes of a dataset that this policy recorded."""
        check_same(root, spec, self.steered.dim)
        dataset = load_dataset(root)
        episodes = dataset.episodes
        labelled = [episode for episode in episodes if episode.outcome is not None]
        if len(labelled) < len(episodes):
            warn(f"{len(episodes) - len(labelled)} episodes of {root} have no label and are left out")
        vectors_of = self.steered.flow.vectors
        decided = [offline_episode(episode, vectors_of, self.inputs, self.steered.dim) for episode in labelled]
        return Offline(decided, trained_on(dataset))

    def workplace(
        self, env: Env, operator: Operator, task: str, config: FinetuneConfig, say: Any, offline: Offline
    ) -> Workplace:
        """What the finetuner works with."""
        flow = self.steered.flow
        return Workplace(
            env=env,
            operator=operator,
            steer=self.steer,
            base=GaussianPilot(self.steered.dim, config.sac.bound),
            zero=ZeroPilot(self.steered.dim),
            reward=self.inputs.reward,
            save_policy=flow.save_pretrained,
            vector_dim=flow.vector_size,
            latent_dim=self.steered.dim,
            chunk=flow.config.chunk_size,
            max_steps=self.steered.horizon_steps,
            task=task,
            identity=self.identity,
            about=self.names | {"versions": versions()} | ({OFFLINE: dict(offline.noted)} if offline.noted else {}),
            shared_features=self.inputs.shared_features,
            live_score_ms=self.live_score_ms,
            say=say,
        )

    def steer(self, pilot: Pilot) -> SteeredPolicy:
        """The one policy, with another pilot at its noise."""
        self.steered.pilot = pilot
        return self.steered

    def listeners(self, run: Path, config: FinetuneConfig, counters: Counters) -> list[Listener]:
        """Live score first, so that the examples can keep what it said."""
        keeper = ExampleKeeper(
            run,
            self.score,
            total_steps=config.steps,
            seed=config.seed,
            first_episode=counters.episode,
            first_step=counters.env_steps,
        )
        return [self.live, keeper]

    def score(self, step: Step) -> tuple[float, float] | None:
        """(logit, probability) of this very step, when it was in time."""
        newest = self.live.newest
        return (newest.logit, newest.probability) if newest is not None and newest.index == step.index else None

    def live_score_ms(self) -> dict[str, float] | None:
        """p50 and p95 of the time for one score; None before the first."""
        if not self.live.times_ms:
            return None
        p50, p95 = self.live.latency_ms()
        return {"p50": p50, "p95": p95}


class Progress:
    """A bar over control steps with the outcome of the last episodes; a listener."""

    needs_every_frame = False
    RECENT = 20

    def __init__(self, total: int) -> None:
        self.total = total
        self.outcomes: list[str] = []
        self.bar: tqdm[Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()

    def begin(self, steps: int) -> None:
        """Show the bar; ``steps`` were used before. Not earlier, so that a refusal is one line."""
        self.bar = tqdm(total=self.total, unit=" steps", desc="finetune", dynamic_ncols=True, mininterval=1.0)
        self.bar.update(min(steps, self.total))

    def say(self, text: str) -> None:
        """A line above the bar."""
        tqdm.write(text)

    def on_start(self, start: EpisodeStart) -> None: ...

    def on_step(self, step: Step) -> None: ...

    def on_end(self, end: EpisodeEnd) -> None:
        """Count it."""
        self.outcomes = [*self.outcomes, str(end.outcome)][-self.RECENT :]
        if self.bar is None:
            return
        self.bar.set_postfix_str(f"{self.outcomes.count('success')} of the last {len(self.outcomes)} succeeded")
        self.bar.update(min(end.steps, self.total - self.bar.n))


def versions() -> dict[str, str]:
    """What a reader needs to run it again."""
    names: Sequence[str] = ("svm-robot", "torch", "lerobot", "numpy")
    return {"python": platform.python_version()} | {name: version(name) for name in names}
