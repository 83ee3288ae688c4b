"""Everything that learns in one run: replay, discriminator and policy, and the two ways they are improved."""

from dataclasses import replace
from math import ceil
from typing import Any

import torch
from torch import Tensor

from svm_robot.learner.config import FinetuneConfig
from svm_robot.learner.decisions import DecisionEpisode
from svm_robot.learner.divergence import latent_kl, pretanh_kl
from svm_robot.learner.prequential import Prequential, Scored
from svm_robot.learner.replay import Replay, Sample
from svm_robot.learner.sac import Sac, cost_to_go
from svm_robot.learner.training import train_policy
from svm_robot.reward.forms import form_named
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.trainer import DiscriminatorTrainer
from svm_robot.rollout import Outcome

KL_ROWS = 256
"""Newest decisions over which the distance to the base is averaged."""


class Learner:
    """Holds D+ and D-, f, and the actor. Same seed and same episodes give the same weights (on a CPU)."""

    def __init__(
        self, config: FinetuneConfig, reward: SvmRewardModel, vector_dim: int, latent_dim: int, max_decisions: int
    ) -> None:
        self.config, self.reward = config, reward
        self.form = form_named(config.shaping)
        self.replay = Replay(vector_dim, latent_dim, reward.config.input_dim)
        self.discriminator = DiscriminatorTrainer(reward, config.fit_batch, config.seed)
        # Every reward form starts from the same critics: at the cost of an episode that never succeeds, 1 a decision.
        self.critic_start = cost_to_go(1.0, config.sac.gamma, max_decisions)
        self.sac = Sac(vector_dim, latent_dim, config.sac, self.critic_start, config.seed)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.prequential = Prequential()
        self.held_out_temperature = reward.config.temperature

    @property
    def warm(self) -> bool:
        """True when the base has been seen often enough, and seen to succeed, for its noise to be steered."""
        enough = len(self.replay.episodes) >= self.config.warmup_episodes
        return enough and self.replay.count(Outcome.SUCCESS) >= self.config.min_successes

    @property
    def has_both(self) -> bool:
        """True when D+ and D- both hold episodes; before that there is no discriminator and no bonus."""
        return self.replay.count(Outcome.SUCCESS) > 0 and self.replay.count(Outcome.FAILURE) > 0

    def add(self, episode: DecisionEpisode, own: bool) -> list[float]:
        """Score an episode, then keep it if its outcome trains anything. ``own``: the trained actor acted.

        An offline episode does not count as foreseen: as a rule f was fitted on it before the run.

        Returns the logit of each decision, from before f was trained on it [nats].
        """
        logits: list[float] = self.logits(episode.inputs).tolist()
        if self.replay.add(episode) and not episode.offline:
            self.prequential.add(episode.outcome, logits, own)
        return logits

    @torch.no_grad()
    def logits(self, inputs: Tensor) -> Tensor:
        """(B, m) -> (B,) unclipped logit of the newest f [nats]."""
        return self.reward.logits(inputs.to(self.discriminator.device)).cpu()

    def rewards(self, sample: Sample) -> Tensor:
        """(B,) rewards of sampled decisions, now. Without both outcomes lambda is 0."""
        constants = self.config.reward_constants
        if not self.has_both:
            constants = replace(constants, lam=0.0)
        return self.form(sample.reward_batch, self.calibrated, constants)

    def calibrated(self, inputs: Tensor) -> Tensor:
        """(B, m) -> (B,) logit of the newest f, no surer than its predictions have turned out to be [nats]."""
        return self.logits(inputs) / self.temperature

    @property
    def temperature(self) -> float:
        """What a logit is divided by before it becomes reward; 1 without ``calibrate``."""
        return self.reward.config.temperature if self.config.calibrate else 1.0

    def calibrate(self) -> None:
        """Take the temperature anew. It is the reward's own, so that every P(success) shown is calibrated by it too."""
        if self.config.calibrate:
            self.reward.config.temperature = self.prequential.temperature(self.held_out_temperature)

    def fit(self, steps: int) -> dict[str, float]:
        """Discriminator steps on D+ against D-; nothing to report while one of them is empty."""
        if not self.has_both:
            return {}
        plus, minus = self.replay.inputs_of(Outcome.SUCCESS), self.replay.inputs_of(Outcome.FAILURE)
        return self.discriminator.update(plus, minus, steps)

    def improve(self, decisions: int, at_most: int | None = None) -> dict[str, float]:
        """Policy steps for so many new decisions, and the numbers that tell how it goes."""
        self.calibrate()
        updates = ceil(self.config.updates_per_decision * decisions)
        numbers = train_policy(
            self.sac,
            self.replay,
            self.rewards,
            updates=updates if at_most is None else min(updates, at_most),
            batch=self.config.batch,
            generator=self.generator,
            offline_share=self.config.offline_share,
        )
        return numbers | {"temperature": self.temperature} | self.distance_to_base()

    @torch.no_grad()
    def distance_to_base(self) -> dict[str, float]:
        """Mean exact reverse KL of the actor to the base's noise at the newest decisions [nats per decision]."""
        rows = self.replay.columns["vector"][max(0, self.replay.rows - KL_ROWS) : self.replay.rows]
        mean, log_std = self.sac.actor(rows)
        return {
            "kl_nats": float(latent_kl(mean, log_std, self.config.sac.bound).mean()),
            "kl_pretanh_nats": float(pretanh_kl(mean, log_std).mean()),
        }

    def state_dict(self) -> dict[str, Any]:
        """All but the replay, whose episodes are files of their own."""
        return {
            "sac": self.sac.state_dict(),
            "discriminator": self.discriminator.state_dict(),
            "generator": self.generator.get_state(),
            "scored": [(scored.success, scored.logits, scored.own) for scored in self.prequential.scored],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The reverse of ``state_dict``."""
        self.sac.load_state_dict(state["sac"])
        self.discriminator.load_state_dict(state["discriminator"])
        self.generator.set_state(state["generator"])
        self.prequential = Prequential(Scored(*scored) for scored in state["scored"])
        self.calibrate()
