"""``svm-robot pretrain DATASET``: clone the recorded actions into a flow policy."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from svm_robot.policies.modeling_svm_flow import SvmFlowPolicy
    from svm_robot.policies.pretrain import PretrainReport

USAGE = "svm-robot pretrain DATASET --out=PATH [--steps=1500] [--on=all|success] [--rig=RIG]"


@dataclass
class PretrainVerbConfig:
    """What to train, and where it goes."""

    out: Path  # folder of the new policy checkpoint
    steps: int = 1500  # gradient steps
    batch: int = 64  # pictures per step
    chunk: int = 4  # control steps per action chunk
    picture_side: int = 64  # longer side of the pictures the policy sees [pixels]
    on: Literal["all", "success"] = "all"  # which episodes to clone; failures too keep both ways of doing it
    seed: int = 0  # of the held-out episodes and of the training
    device: str = "cpu"  # where to train
    threads: int = 2  # processor threads
    rig: str | None = None  # also measure success on this virtual rig, with sampled and with zero noise
    episodes: int = 100  # episodes for each of the two
    overwrite: bool = False  # replace an older policy at --out
    json: bool = False  # print the figures as JSON


def main(args: list[str]) -> int:
    """Train, save, and print how well it explains episodes it has not seen."""
    from svm_robot.scripts.cli import parse, split_positionals, virtual_rig, warn

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(PretrainVerbConfig, options, usage=USAGE)
    rig = virtual_rig(config.rig) if config.rig else None

    import torch
    from tqdm import tqdm

    from svm_robot.data import load_dataset
    from svm_robot.policies.checkpoint import refuse_existing, save_flow
    from svm_robot.policies.configuration_svm_flow import SvmFlowConfig
    from svm_robot.policies.pretrain import PretrainConfig, pretrain, usable

    how = PretrainConfig(steps=config.steps, batch=config.batch, on=config.on, seed=config.seed)
    flow = SvmFlowConfig(device=config.device, chunk_size=config.chunk, picture_side=config.picture_side)
    refuse_existing(config.out, config.overwrite)
    usable(load_dataset(Path(words[0]), frames=False).episodes, config.on)  # before the pictures are decoded
    dataset = load_dataset(Path(words[0]))
    torch.set_num_threads(max(1, config.threads))
    with tqdm(total=config.steps, desc="pretrain", disable=None, leave=False) as bar:

        def watch(step: int, loss: float) -> None:
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            bar.update()

        policy, report = pretrain(dataset, how, flow, watch)
    figures: dict[str, Any] = report.to_json()
    save_flow(policy, config.out, figures, config.overwrite)
    if not config.json:
        print(f"{table(report)}\npolicy saved in {config.out}")
    if rig is not None:
        figures["success"] = measure(rig, policy, config)
    if config.json:
        print(json.dumps(figures, indent=2))
    for name in report.constant:
        warn(f"{name} never changes in this dataset; the policy repeats it")
    return 0


def table(report: "PretrainReport") -> str:
    """The figures in words."""
    return (
        f"{report.train_episodes} episodes ({report.frames} frames) cloned in {report.seconds:.0f} s, "
        f"{report.ms_per_step:.0f} ms a step; {report.held_out_episodes} held out\n"
        f"flow loss {report.train_loss:.3f}, held out {report.held_out_loss:.3f}\n"
        f"held out: {report.nll_nats:.2f} nats per chunk ({report.nll_nats_per_dim:.3f} per number); "
        f"a plain normal distribution needs {report.nll_nats_normal:.2f}"
    )


def measure(rig: Any, policy: "SvmFlowPolicy", config: PretrainVerbConfig) -> dict[str, Any]:
    """Success on a virtual rig with sampled and with zero noise: the base, and what steering has to beat."""
    import torch

    from svm_robot.scripts.evaluate import Progress, run, steered

    torch.set_num_threads(1)
    results = {}
    for noise in ("sampled", "zero"):
        acting = steered(policy, noise, rig.max_steps)
        result = run(rig, acting, config.episodes, judge=True, listeners=[Progress(config.episodes)])
        results[noise] = result.to_json()
        if not config.json:
            print(f"success with {noise} noise: {result}")
    return results
