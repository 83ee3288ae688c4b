"""LeRobot's own trainer on a recording of ours, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

TRAIN = "import lerobot.scripts.lerobot_train as train; train.main()"


def lerobot_train(recording: Path, out: Path, steps: int, **options: object) -> Path:
    """The checkpoint of ``steps`` training steps; ``policy__type="x"`` stands for ``--policy.type=x``."""
    given = {
        "discover_packages_path": "svm_robot",
        "dataset.repo_id": recording.name,
        "dataset.root": recording,
        "dataset.video_backend": "pyav",
        "output_dir": out,
        "steps": steps,
        "save_freq": steps,
        "num_workers": 0,
        "wandb.enable": "false",
    } | {name.replace("__", "."): value for name, value in options.items()}
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, *(f"--{name}={value}" for name, value in given.items())],
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return out / "checkpoints" / "last" / "pretrained_model"
