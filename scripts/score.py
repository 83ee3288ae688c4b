"""``svm-robot score REWARD DATASET``: score every frame, and draw the scores into a video."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svm_robot.errors import ConfigError

if TYPE_CHECKING:
    from svm_robot.data import Dataset
    from svm_robot.reward.score import EpisodeScores

USAGE = "svm-robot score REWARD DATASET [--out=DIR] [--video]"


@dataclass
class ScoreConfig:
    """What to write."""

    out: Path | None = None  # new folder for scores.csv, summary.json and scores.mp4; default: DATASET-scores
    video: bool = False  # also draw the scores under the pictures
    video_episodes: int = 6  # how many episodes the video shows, successes and failures in turn
    device: str = "cpu"  # where to score
    overwrite: bool = False  # replace an older result

    def __post_init__(self) -> None:
        if self.video_episodes < 1:
            raise ConfigError(f"video_episodes must be 1 or more, got {self.video_episodes}")


def main(args: list[str]) -> int:
    """Score, write the folder as a whole, print the summary."""
    from svm_robot.scripts.cli import parse, split_positionals, warn

    words, options = split_positionals(args, USAGE, 2, 2)
    config = parse(ScoreConfig, options, usage=USAGE)

    import torch
    from tqdm import tqdm

    from svm_robot.data import load_dataset
    from svm_robot.errors import DataError
    from svm_robot.reward.checkpoint import check_fits, load_reward
    from svm_robot.reward.score import score_episode, summarise, time_scores
    from svm_robot.scripts.stale import warn_if_stale

    torch.set_num_threads(1)
    root = Path(words[1])
    out = config.out or root.with_name(f"{root.resolve().name}-scores")
    refuse_existing(out, config.overwrite)
    model = load_reward(Path(words[0]), config.device)
    dataset = load_dataset(root, frames=False)
    check_fits(model, dataset)
    if not dataset.episodes:
        raise DataError(f"{root} has no episodes to score")
    warn_if_stale([Path(words[0])], dataset)
    dataset = load_dataset(root, roles=list(model.config.cameras))
    scores = [
        score_episode(model, episode) for episode in tqdm(dataset.episodes, desc="score", leave=False, disable=None)
    ]
    known = dataset.grew_from(model.config.dataset_id)
    summary = summarise(scores) | {"ms": time_scores(model, dataset.episodes[0]), "fitted_on_this_dataset": known}
    publish(out, dataset, scores, summary, config)
    print(json.dumps(summary, indent=2))
    print(f"scores in {out}")
    if known:
        warn("the reward was fitted on episodes of this dataset, so these AUCs flatter it; fit-reward's are held out")
    return 0


def refuse_existing(out: Path, overwrite: bool) -> None:
    """``ConfigError`` unless ``out`` is free, or an older result that may be replaced, and can be written."""
    from svm_robot.data.files import check_place

    check_place(out, "folder of scores", "summary.json", overwrite, ConfigError)


def publish(
    out: Path, dataset: "Dataset", scores: "list[EpisodeScores]", summary: dict[str, Any], config: ScoreConfig
) -> None:
    """Write everything beside ``out``, then give it its name."""
    from svm_robot.data.files import new_folder
    from svm_robot.reward.overlay import choose, write_video
    from svm_robot.reward.score import write_csv

    with new_folder(out) as staged:
        write_csv(scores, staged / "scores.csv")
        if config.video:
            shown = choose(scores, config.video_episodes)
            episodes = [dataset.episodes[i] for i in shown]
            write_video(episodes, [scores[i] for i in shown], staged / "scores.mp4", dataset.rate_hz)
        (staged / "summary.json").write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8")
