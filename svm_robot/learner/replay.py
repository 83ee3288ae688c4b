"""What was experienced, decision by decision. D+ and D- are views of it by outcome; no reward is stored.

Rows lie episode after episode, each with one extra row for its last observation, so the next decision of row i is
always row i + 1 and a time-out bootstraps from its own last observation, never from another episode.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from svm_robot.errors import DataError
from svm_robot.learner.decisions import DecisionEpisode
from svm_robot.reward.forms import RewardBatch
from svm_robot.rollout import Outcome


@dataclass(frozen=True)
class Sample:
    """B decisions drawn from the replay."""

    vector: Tensor  # (B, n)
    latent: Tensor  # (B, d)
    next_vector: Tensor  # (B, n)
    terminal: Tensor  # (B,) bool, ended its episode by success
    inputs: Tensor  # (B, m) what f reads
    next_inputs: Tensor  # (B, m) the same of the next decision; the last one of an episode repeats itself
    episode: Tensor  # (B,) number of the episode in this replay

    @property
    def reward_batch(self) -> RewardBatch:
        """What a reward form may look at."""
        return RewardBatch(terminal=self.terminal, inputs=self.inputs, next_inputs=self.next_inputs)


@dataclass(frozen=True)
class Kept:
    """Where one episode lies."""

    start: int
    decisions: int
    outcome: Outcome
    offline: bool


class Replay:
    """Append-only; room is made in advance and doubled when it is full. n, d, m as in ``DecisionEpisode``."""

    def __init__(self, vector_dim: int, latent_dim: int, input_dim: int, capacity: int = 8192) -> None:
        self.columns = {
            "vector": torch.zeros(capacity, vector_dim),
            "latent": torch.zeros(capacity, latent_dim),
            "inputs": torch.zeros(capacity, input_dim),
            "terminal": torch.zeros(capacity, dtype=torch.bool),
            "episode": torch.zeros(capacity, dtype=torch.int64),
        }
        self.rows = 0
        self.episodes: list[Kept] = []
        self._pools: dict[bool, Tensor] = {}  # by offline: the rows that hold a decision; empty: not yet listed

    def __len__(self) -> int:
        """Decisions that can be drawn."""
        return self.rows - len(self.episodes)

    def add(self, episode: DecisionEpisode) -> bool:
        """Append an episode. False, and nothing is kept, when its outcome trains nothing."""
        if not episode.trains:
            return False
        self._check(episode)
        count = len(episode)
        self._make_room(count + 1)
        rows = slice(self.rows, self.rows + count)
        self.columns["vector"][self.rows : self.rows + count + 1] = episode.vectors
        self.columns["latent"][rows] = episode.latents
        self.columns["inputs"][rows] = episode.inputs
        self.columns["inputs"][self.rows + count] = episode.inputs[-1]
        self.columns["terminal"][self.rows + count - 1] = episode.terminated
        self.columns["episode"][self.rows : self.rows + count + 1] = len(self.episodes)
        self._pools.clear()
        self.episodes.append(Kept(self.rows, count, episode.outcome, episode.offline))
        self.rows += count + 1
        return True

    def sample_rows(self, count: int, generator: torch.Generator, offline_share: float | None = None) -> Tensor:
        """(count,) rows drawn with replacement, every decision equally likely.

        With ``offline_share`` that part of them comes from before this run, as soon as there are both kinds.
        """
        old, new = self._pool(True), self._pool(False)
        if not len(old) + len(new):
            raise DataError("the replay is empty: no episode that ended in success or failure yet")
        if offline_share is None or not len(old) or not len(new):
            return _draw(torch.cat((old, new)), count, generator)
        from_old = round(offline_share * count)
        return torch.cat((_draw(old, from_old, generator), _draw(new, count - from_old, generator)))

    def at(self, rows: Tensor) -> Sample:
        """The decisions in these rows; ``rows`` (B,) int64, none of them an episode's last observation."""
        here = {name: column[rows] for name, column in self.columns.items()}
        return Sample(
            **here, next_vector=self.columns["vector"][rows + 1], next_inputs=self.columns["inputs"][rows + 1]
        )

    def inputs_of(self, outcome: Outcome) -> Tensor:
        """(N, m) reward inputs of D+ (success) or D- (failure), for the discriminator."""
        return self.columns["inputs"][self._rows([kept for kept in self.episodes if kept.outcome is outcome])]

    def count(self, outcome: Outcome) -> int:
        """Episodes with this outcome."""
        return sum(episode.outcome is outcome for episode in self.episodes)

    def _pool(self, offline: bool) -> Tensor:
        if offline not in self._pools:
            self._pools[offline] = self._rows([kept for kept in self.episodes if kept.offline is offline])
        return self._pools[offline]

    @staticmethod
    def _rows(episodes: list[Kept]) -> Tensor:
        """(N,) rows that hold a decision of these episodes."""
        rows = [torch.arange(kept.start, kept.start + kept.decisions) for kept in episodes]
        return torch.cat(rows) if rows else torch.zeros(0, dtype=torch.int64)

    def _check(self, episode: DecisionEpisode) -> None:
        for name, values in (("vector", episode.vectors), ("latent", episode.latents), ("inputs", episode.inputs)):
            want = self.columns[name].shape[1]
            if values.ndim != 2 or values.shape[1] != want:
                raise DataError(f"the replay keeps {name} of {want} numbers, got shape {tuple(values.shape)}")
            if not torch.isfinite(values).all():
                raise DataError(f"an episode's {name} holds a number that is not finite; it cannot be learned from")

    def _make_room(self, more: int) -> None:
        capacity = len(self.columns["terminal"])
        while self.rows + more > capacity:
            self.columns = {name: torch.cat((c, torch.zeros_like(c))) for name, c in self.columns.items()}
            capacity *= 2


def _draw(pool: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return pool[torch.randint(len(pool), (count,), generator=generator)]
