"""``svm-robot record RIG``: record episodes and the outcome of each one."""

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError

if TYPE_CHECKING:
    from svm_robot.policies.steering import SteeredPolicy
    from svm_robot.recording.encoder import Encoding
    from svm_robot.recording.recorder import Recorder
    from svm_robot.reward.live import LiveScore
    from svm_robot.rollout import EnvSpec, Policy
    from svm_robot.scripts.cell import Cell

USAGE = "svm-robot record RIG --episodes=20 [--dataset=PATH] [--control=script|teleop|policy] [--judge]"


@dataclass(kw_only=True)
class RecordConfig(RigConfig):
    """Options of a recording session, beside those of the rig."""

    episodes: int = 10  # how many episodes to add
    dataset: str | None = None  # folder to write into, continued when it exists; default: the rig's dataset_root
    control: Literal["script", "teleop", "policy"] = "script"  # who moves the robot
    takeover: Literal["none", "keyboard", "leader"] = "none"  # who may take over from a policy with the key t
    policy: str | None = None  # checkpoint of a flow policy; only with --control=policy
    noise: Literal["auto", "sampled", "zero"] = "auto"  # auto: the finetuned pilot if there is one, else sampled
    judge: bool = False  # let the virtual world say the outcome, instead of the keys s/f/u/d
    clumsiness: float = 1.0  # of the scripted operator: 0 never fails, 1 fails about every second time
    reward: str | None = None  # reward model that scores the episodes live
    slow_loop: Literal["warn", "reject"] = "warn"  # reject: a slow episode is kept, labelled aborted, and made again
    slow_rate: float = 0.95  # an episode is slow below this share of rate_hz on average [0..1]
    slow_gap: float = 3.0  # or with so many control periods between two steps [periods of 1/rate_hz]
    pictures: Literal["video", "png", "jpeg"] = "video"  # one video per episode, or single pictures in the data files
    jpeg_quality: int = 95  # of single JPEG pictures, 1 to 100
    keep_free_mb: int = 200  # free disk space that recording never uses [MB]
    repair: bool = False  # mend a damaged dataset first: whole episodes are kept, the others set aside
    accept_changes: bool = False  # continue a dataset with another calibration, camera device or robot id, and note it

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.episodes < 1:
            raise ConfigError(f"episodes is {self.episodes}; record at least 1")
        if self.dataset == "":  # an unset variable of a script, which must not go into another dataset
            raise ConfigError(f"dataset is empty; name a folder, or leave it out for {self.dataset_root}")
        if not 0 <= self.slow_rate <= 1:
            raise ConfigError(f"slow_rate is {self.slow_rate}; it is a share of rate_hz, from 0 to 1")
        if not self.slow_gap > 1:
            raise ConfigError(f"slow_gap is {self.slow_gap} periods; every gap is at least one, so it must be above 1")
        if not 1 <= self.jpeg_quality <= 100:
            raise ConfigError(f"jpeg_quality is {self.jpeg_quality}; it goes from 1 to 100")
        if self.keep_free_mb < 0:
            raise ConfigError(f"keep_free_mb is {self.keep_free_mb}; it must be 0 or more")
        if (self.control == "policy") != (self.policy is not None):
            raise ConfigError("--control=policy and --policy=PATH belong together")
        if self.takeover != "none" and self.control == "teleop":
            raise ConfigError("--takeover is for --control=policy or script; with teleop a person acts already")


def main(args: list[str]) -> int:
    """Record, say what became of each episode, and name the next step."""
    from svm_robot.recording.recovery import SET_ASIDE, is_fresh
    from svm_robot.recording.resume import check_resume
    from svm_robot.recording.session import record
    from svm_robot.recording.stills import check_pictures
    from svm_robot.scripts.cell import open_cell
    from svm_robot.scripts.cli import parse, split_positionals, warn
    from svm_robot.scripts.hands import acting
    from svm_robot.scripts.record_console import Console

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(RecordConfig, options, rig=words[0], usage=USAGE)
    root = Path(config.dataset or config.dataset_root)
    steered, live = load_policy(config), load_reward(config)
    look_at(root, config.repair)
    with ExitStack() as stack:
        cell = stack.enter_context(open_cell(config, clumsiness=config.clumsiness))
        latent_dim = steered.dim if steered else None
        if not is_fresh(root):
            check_resume(root, cell.env.spec, latent_dim, config.accept_changes)
            check_pictures(root, encoding(config))
        policy = actor(config, cell, steered)
        if live is not None:
            live.check(cell.env.spec, policy.source)
        who = stack.enter_context(acting(config.takeover, config, cell, policy, config.judge))
        recorder = new_recorder(config, root, cell.env.spec, latent_dim)
        recorder.check_room()
        recorder.open()
        ending = cell.ending
        ending.closing(stack, "closing the dataset", recorder.close)
        compare_labels(config, root, recorder.episodes)
        if recorder.accepted:
            warn(f"continued with another set-up: {'; '.join(recorder.accepted)}")
        if recorder.writer.set_aside:
            warn(f"an earlier recording was cut off; what it left unfinished lies in {root / SET_ASIDE}")
        report = Console(live, in_place=config.judge and sys.stdout.isatty())
        try:
            with ending.motors_first():
                tally = record(
                    cell.env,
                    who.policy,
                    who.operator,
                    ending.patient(recorder, "saving the episode"),
                    episodes=config.episodes,
                    seed=config.seed,
                    max_steps=config.max_steps,
                    listeners=[*who.listeners, *([ending.patient(live, "ending the live score")] if live else [])],
                    progress=report,
                )
        except BaseException:
            ending.told(partial(report.interrupted, recorder.summary))
            raise
    print(f"recorded {tally} into {root}; labels: svm-robot label {root}")
    return 0


def look_at(root: Path, mend: bool) -> None:
    """Before anything moves: raise ``DataError`` for a damaged dataset, or ``mend`` it."""
    from svm_robot.recording.recovery import is_fresh
    from svm_robot.recording.torn import read_counted
    from svm_robot.scripts.cli import warn

    if is_fresh(root):
        return
    if mend:
        from svm_robot.curation.mend.repair import plan_repair, repair

        plan = plan_repair(root)
        for line in plan.lines():
            warn(line)
        repair(plan, time.time)
    read_counted(root)


def new_recorder(config: RecordConfig, root: Path, spec: "EnvSpec", latent_dim: int | None) -> "Recorder":
    """The recorder as the options want it, not opened yet."""
    from svm_robot.recording.disk import Reserve
    from svm_robot.recording.recorder import Recorder
    from svm_robot.recording.timing import SlowLoop

    return Recorder(
        root,
        spec,
        config.task,
        latent_dim,
        encoding(config),
        by=by(config),
        slow_loop=SlowLoop(config.slow_loop == "reject", config.slow_rate, config.slow_gap),
        accept_changes=config.accept_changes,
        reserve=Reserve(config.keep_free_mb),
    )


def encoding(config: RecordConfig) -> "Encoding":
    """How pictures are kept."""
    from svm_robot.recording.encoder import Encoding

    return Encoding(pictures=config.pictures, jpeg_quality=config.jpeg_quality)


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


def compare_labels(config: RecordConfig, root: Path, episodes: int) -> None:
    """Note when labels of this dataset have changed since the reward was fitted on it."""
    if config.reward is None or not episodes:
        return
    from svm_robot.data import load_dataset
    from svm_robot.errors import DataError
    from svm_robot.scripts.cli import warn
    from svm_robot.scripts.stale import warn_if_stale

    try:
        warn_if_stale([Path(config.reward)], load_dataset(root, frames=False))
    except DataError as error:  # recording goes on without this comparison, and says so
        warn(f"the labels behind {config.reward} were not compared: {error}")


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
