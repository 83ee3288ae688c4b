"""``svm-robot record RIG``: record episodes and the outcome of each one."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Literal

from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError

if TYPE_CHECKING:
    from svm_robot.data.recorder import EpisodeSummary
    from svm_robot.data.session import Tally
    from svm_robot.policies.steering import SteeredPolicy
    from svm_robot.reward.live import LiveScore
    from svm_robot.rollout import Policy
    from svm_robot.scripts.cell import Cell

USAGE = "svm-robot record RIG --episodes=20 [--dataset=PATH] [--control=script|teleop|policy] [--judge]"


@dataclass(kw_only=True)
class RecordConfig(RigConfig):
    """Options of a recording session, beside those of the rig."""

    episodes: int = 10  # how many episodes to add
    dataset: str | None = None  # folder to write into, continued when it exists; default: the rig's dataset_root
    control: Literal["script", "teleop", "policy"] = "script"  # who moves the robot
    policy: str | None = None  # checkpoint of a flow policy; only with --control=policy
    noise: Literal["auto", "sampled", "zero"] = "auto"  # auto: the finetuned pilot if there is one, else sampled
    judge: bool = False  # let the virtual world say the outcome, instead of the keys s/f/u/d
    clumsiness: float = 1.0  # of the scripted operator: 0 never fails, 1 fails about every second time
    reward: str | None = None  # reward model that scores the episodes live

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.episodes < 1:
            raise ConfigError(f"episodes is {self.episodes}; record at least 1")
        if (self.control == "policy") != (self.policy is not None):
            raise ConfigError("--control=policy and --policy=PATH belong together")


def main(args: list[str]) -> int:
    """Record, say what became of each episode, and name the next step."""
    from svm_robot.data.recorder import Recorder
    from svm_robot.data.recovery import SET_ASIDE
    from svm_robot.data.schema import check_same
    from svm_robot.data.session import record
    from svm_robot.scripts.cell import open_cell
    from svm_robot.scripts.cli import parse, split_positionals, warn
    from svm_robot.scripts.evaluate import who_judges

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(RecordConfig, options, rig=words[0], usage=USAGE)
    root = Path(config.dataset or config.dataset_root)
    steered, live = load_policy(config), load_reward(config)
    with ExitStack() as stack:
        cell = stack.enter_context(open_cell(config, clumsiness=config.clumsiness))
        latent_dim = steered.dim if steered else None
        if (root / "meta").exists():
            check_same(root, cell.env.spec, latent_dim)
        policy = actor(config, cell, steered)
        if live is not None:
            live.check(cell.env.spec, policy.source)
        operator = stack.enter_context(who_judges(cell, config.judge))
        recorder = Recorder(root, cell.env.spec, config.task, latent_dim, by=by(config))
        recorder.open()
        stack.callback(recorder.close)
        if recorder.writer.set_aside:
            warn(f"an earlier recording was cut off; what it left unfinished lies in {root / SET_ASIDE}")
        report = Console(live, in_place=config.judge and sys.stdout.isatty())
        try:
            tally = record(
                cell.env,
                policy,
                operator,
                recorder,
                episodes=config.episodes,
                seed=config.seed,
                max_steps=config.max_steps,
                listeners=[live] if live else [],
                progress=report,
            )
        except BaseException:
            report.interrupted(recorder.summary)
            raise
    print(f"recorded {tally} into {root}; labels: svm-robot label {root}")
    return 0


def load_policy(config: RecordConfig) -> "SteeredPolicy | None":
    """The flow policy with its noise, when a policy acts."""
    if config.policy is None:
        return None
    import torch

    from svm_robot.policies.checkpoint import load_flow
    from svm_robot.scripts.evaluate import steered

    torch.set_num_threads(1)
    path = Path(config.policy)
    return steered(load_flow(path), config.noise, config.max_steps, path)


def load_reward(config: RecordConfig) -> "LiveScore | None":
    """The live scorer, when a reward is given."""
    if config.reward is None:
        return None
    import torch

    from svm_robot.reward.checkpoint import load_reward as load
    from svm_robot.reward.live import LiveScore

    torch.set_num_threads(1)
    return LiveScore(load(Path(config.reward)))


def actor(config: RecordConfig, cell: "Cell", steered: "SteeredPolicy | None") -> "Policy":
    """Who moves the robot. Raises ``CheckpointError`` for a policy of another robot."""
    if steered is not None:
        from svm_robot.policies.checkpoint import check_fits

        check_fits(steered.flow, cell.env.spec)
        return steered
    return cell.teleop() if config.control == "teleop" else cell.expert(config.seed)


def by(config: RecordConfig) -> str:
    """Who stands in the label log."""
    from svm_robot.scripts.label import login

    return "judge" if config.judge else login()


class Console:
    """One line for each episode. ``in_place``: each covers the one before, where no prompt stands between them."""

    def __init__(self, live: "LiveScore | None", in_place: bool) -> None:
        self.live, self.in_place = live, in_place

    def __call__(self, episode: "EpisodeSummary", tally: "Tally") -> None:
        """Told after each episode."""
        counts = " ".join(f"{name} {count}" for name, count in tally.outcomes.items())
        text = f"episode {tally.episodes}/{tally.wanted} {episode.outcome:8} {words(episode)} | {counts}"
        if self.live is not None and self.live.times_ms:
            p50, p95 = self.live.latency_ms()
            probability = self.live.mean_probability
            score = "none" if probability is None else f"{probability:.2f}"
            text += f" | live score {score}, {p50:.1f}/{p95:.1f} ms (p50/p95)"
            if self.live.flags:
                reasons = ", ".join(sorted({flag.reason for flag in self.live.flags}))
                text += f", {len(self.live.flags)} moments without a score ({reasons})"
        if self.in_place:
            more = tally.episodes < tally.wanted
            print(f"\r\x1b[K{text[: get_terminal_size().columns - 1]}", end="" if more else "\n", flush=True)
        else:
            print(text, flush=True)

    def interrupted(self, episode: "EpisodeSummary | None") -> None:
        """Told when the session ended by Ctrl-C or an error."""
        if self.in_place:
            print()
        if episode is not None and episode.episode is not None and episode.outcome == "aborted":
            print(f"episode in progress saved as aborted: number {episode.episode}, {words(episode)}", flush=True)


def words(episode: "EpisodeSummary") -> str:
    """Steps, rate, age of frames and saving time."""
    return (
        f"{episode.frames} steps at {episode.rate_hz:.1f} Hz (worst gap {episode.worst_gap_s:.2f} s), "
        f"frames up to {1e3 * episode.max_frame_age_s:.0f} ms old, saved in {episode.saving_s:.2f} s"
    )
