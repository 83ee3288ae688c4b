"""What LeRobot itself makes of a dataset."""

from pathlib import Path

import numpy as np


def write_with_lerobot(root: Path, kind: str, episodes: int = 3, length: int = 5, finalize: bool = True) -> object:
    """A dataset by LeRobot's own writer: all episodes in the same files. ``kind``: video or image."""
    from lerobot.configs import RGBEncoderConfig
    from lerobot.datasets import LeRobotDataset

    shape, names = (32, 32, 3), ["height", "width", "channels"]
    features = {
        "observation.state": {"dtype": "float32", "shape": (2,), "names": ["x", "y"]},
        "action": {"dtype": "float32", "shape": (2,), "names": ["x", "y"]},
        "observation.images.top": {"dtype": kind, "shape": shape, "names": names},
    }
    quality = RGBEncoderConfig(vcodec="h264", crf=5, preset="ultrafast", pix_fmt="yuv444p")
    made = LeRobotDataset.create(
        "local/x", 10, features, root=root, robot_type="toy", rgb_encoder=quality, video_backend="pyav"
    )
    random = np.random.default_rng(0)
    for _ in range(episodes):
        for _ in range(length):
            numbers = {key: random.normal(size=2).astype(np.float32) for key in ("observation.state", "action")}
            picture = random.integers(0, 255, shape, dtype=np.uint8)
            made.add_frame({**numbers, "observation.images.top": picture, "task": "stack"})
        made.save_episode(parallel_encoding=False)
    if finalize:
        made.finalize()
    return made


def lerobot_reads(root: Path) -> str:
    """Why LeRobot cannot read every item of a dataset; empty when it can."""
    from lerobot.datasets import LeRobotDataset

    try:
        dataset = LeRobotDataset("local/x", root=root, video_backend="pyav")
        for number in range(len(dataset)):
            dataset[number]
    except Exception as error:  # noqa: BLE001  (whatever a damaged dataset makes it raise)
        return f"{type(error).__name__}: {error}"
    return ""
