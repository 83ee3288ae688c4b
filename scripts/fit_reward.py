"""``svm-robot fit-reward DATASET``: train the success/failure discriminator on labelled episodes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from svm_robot.data import Dataset
    from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy

USAGE = "svm-robot fit-reward DATASET --out=PATH [--policy=PATH] [--action=noise|chunk|step|none]"


@dataclass
class FitRewardConfig:
    """What to fit, and how."""

    out: Path  # folder of the new reward checkpoint
    policy: Path | None = None  # share the encoder of this policy, frozen; without it an encoder is trained
    action: Literal["auto", "noise", "chunk", "step", "none"] = "auto"  # what it reads; auto: noise if any, else chunk
    progress: bool = False  # let the reward see the clock (a shortcut: probe it)
    steps: int = 500  # gradient steps
    holdout: float = 0.25  # share of the episodes of each outcome that only judges
    seed: int = 0  # of the split and of the training
    device: str = "cpu"  # where to train
    overwrite: bool = False  # replace an older reward at --out
    json: bool = False  # print the figures as JSON


def main(args: list[str]) -> int:
    """Fit, judge on held-out episodes, save, and print the table."""
    from svm_robot.scripts.cli import parse, split_positionals, warn

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(FitRewardConfig, options, usage=USAGE)

    import torch
    from tqdm import tqdm

    from svm_robot.data import load_dataset
    from svm_robot.reward.checkpoint import refuse_existing, save_reward
    from svm_robot.reward.fit import FitOptions, fit_reward, new_config
    from svm_robot.reward.split import check_classes

    torch.set_num_threads(1)
    fit = FitOptions(steps=config.steps, holdout=config.holdout, seed=config.seed, device=config.device)
    refuse_existing(config.out, config.overwrite)
    root = Path(words[0])
    check_classes(load_dataset(root, frames=False).episodes)  # before the pictures are decoded
    policy = load_policy(config)
    dataset = load_dataset(root)
    wanted = new_config(
        dataset, action_kind(config, dataset), root.resolve().name, config.device, progress=config.progress
    )
    with tqdm(total=config.steps, desc="encoder", disable=None if policy is None else True, leave=False) as bar:
        model, quality = fit_reward(dataset, wanted, fit, policy and policy.encoder, lambda _: bar.update())
    save_reward(model, config.out, config.overwrite)
    if config.json:
        print(
            json.dumps({"action": wanted.action, "temperature": quality.temperature, **quality.as_metrics()}, indent=2)
        )
    else:
        print(f"{quality.table()}\nreward (action: {wanted.action}) saved in {config.out}")
    for warning in quality.warnings():
        warn(warning)
    return 0


def load_policy(config: FitRewardConfig) -> "SvmFlowPolicy | None":
    """The policy whose encoder is shared."""
    if config.policy is None:
        return None
    from svm_robot.policies.checkpoint import load_flow

    return load_flow(config.policy, config.device)


def action_kind(config: FitRewardConfig, dataset: "Dataset") -> str:
    """What the reward reads of the action."""
    if config.action != "auto":
        return config.action
    has_noise = all(episode.latent is not None for episode in dataset.episodes)
    return "noise" if has_noise and dataset.episodes else "chunk"
