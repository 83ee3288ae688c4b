"""What recording costs: our writer beside LeRobot's (finalized and resumed after each episode), reading, codec error.

    python benchmarks/recording_speed.py [--json] [--episodes 8]

Both write the same 80 steps with two cameras of 64x64, in turns. Times are wall time [s], ``cpu`` processor time.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from svm_robot.data import columns, load_dataset
from svm_robot.data.schema import features
from svm_robot.data.video import read_frames
from svm_robot.recording.encoder import Encoding, VideoEncoder
from svm_robot.recording.writer import EpisodeWriter

STEPS = 80
Turn = tuple[float, float, float]
JOINTS = tuple(f"joint_{number}.pos" for number in range(6))


@dataclass(frozen=True)
class Spec:
    """A rig of the size of the virtual robot."""

    robot_type: str = "benchmark"
    joints: tuple[str, ...] = JOINTS
    rate_hz: float = 10.0

    @property
    def cameras(self) -> dict[str, tuple[int, int]]:
        """Two small cameras."""
        return {"front": (64, 64), "wrist": (64, 64)}


def scene(height: int, width: int, number: int) -> np.ndarray:
    """A gradient, a small saturated object that moves, and sensor noise of sigma 4."""
    rng = np.random.default_rng(number)
    ramp = np.linspace(40, 200, width)[None, :, None] * np.linspace(0.5, 1, height)[:, None, None] * np.ones(3)
    left = width // 8 + number % (width // 2)
    ramp[height // 3 : height // 2, left : left + width // 6] = (210, 40, 30)
    return np.clip(ramp + rng.normal(0, 4, ramp.shape), 0, 255).astype(np.uint8)


def row(number: int) -> dict[str, Any]:
    """All columns but the pictures and the bookkeeping."""
    values: dict[str, Any] = {}
    for key, feature in features(Spec()).items():
        if feature["dtype"] != "video" and key not in (
            "timestamp",
            "frame_index",
            "episode_index",
            "index",
            "task_index",
        ):
            values[key] = np.full(feature["shape"], number % 2, feature["dtype"])
    return values


def ours(root: Path, episodes: int) -> Iterator[Turn]:
    """(seconds for the steps, seconds for the pause, processor seconds of the pause) of each episode."""
    rows, pictures = [row(number) for number in range(STEPS)], [scene(64, 64, number) for number in range(STEPS)]
    with EpisodeWriter(root, Spec()) as writer:
        for _ in range(episodes):
            begin = time.perf_counter()
            writer.begin()
            for values, picture in zip(rows, pictures, strict=True):
                writer.add({**values, columns.EPISODE_UID: 1}, {"front": picture, "wrist": picture})
            steps_s = time.perf_counter() - begin
            yield steps_s, *timed(lambda: writer.save("task", {}))


def lerobots(root: Path, episodes: int) -> Iterator[Turn]:
    """The same with LeRobot's dataset class, made safe against a kill as far as it goes."""
    from lerobot.configs import RGBEncoderConfig
    from lerobot.datasets import LeRobotDataset

    table = {key: {**f, "shape": tuple(f["shape"])} for key, f in features(Spec()).items() if "_index" not in key}
    table = {key: feature for key, feature in table.items() if key not in ("timestamp", "index")}
    how: dict[str, Any] = {
        "streaming_encoding": True,
        "encoder_threads": 1,
        "video_backend": "pyav",
        "rgb_encoder": RGBEncoderConfig(vcodec="h264", pix_fmt="yuv444p", crf=0, preset="ultrafast"),
    }
    rows, pictures = [row(number) for number in range(STEPS)], [scene(64, 64, number) for number in range(STEPS)]
    dataset = LeRobotDataset.create("local/benchmark", 10, table, root=root, **how)
    for _ in range(episodes):
        begin = time.perf_counter()
        for values, picture in zip(rows, pictures, strict=True):
            both = {columns.IMAGES + role: picture for role in ("front", "wrist")}
            dataset.add_frame({**values, **both, "task": "task"})
        steps_s = time.perf_counter() - begin

        def pause(used: Any = dataset) -> Any:
            used.save_episode()
            used.finalize()
            return LeRobotDataset.resume("local/benchmark", root=root, **how)

        kept: list[Any] = []
        yield steps_s, *timed(lambda pause=pause, kept=kept: kept.append(pause()))  # type: ignore[misc]
        dataset = kept[0]
    dataset.finalize()


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """(wall, processor) seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def codec(folder: Path, height: int, width: int, frames: int) -> dict[str, float]:
    """Error of decoded pixels against live ones [0..255], size and speed."""
    pictures = [scene(height, width, number) for number in range(frames)]
    encoder = VideoEncoder(folder / f"{height}.mp4", (height, width), 10, Encoding())
    begin = time.perf_counter()
    encoder.start()
    for picture in pictures:
        encoder.put(picture)
    encoder.finish(frames)
    encoded, begin = time.perf_counter() - begin, time.perf_counter()
    decoded = np.stack([picture for _, picture in read_frames(folder / f"{height}.mp4", 10)])
    seconds = time.perf_counter() - begin
    error = np.abs(decoded.astype(np.int16) - np.stack(pictures))
    return {
        "mean_error": float(error.mean()),
        "max_error": float(error.max()),
        "kB_per_frame": (folder / f"{height}.mp4").stat().st_size / frames / 1e3,
        "encoded_and_checked_per_s": frames / encoded,
        "decoded_per_s": frames / seconds,
    }


def middle(taken: Sequence[Turn]) -> dict[str, float]:
    """Medians over the episodes, the first (warm-up) left out."""
    steps, pause, cpu = (statistics.median(column) for column in zip(*taken[1:], strict=True))
    return {"steps_per_s": STEPS / (steps + pause), "pause_s": pause, "pause_cpu_s": cpu}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--episodes", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns = zip(ours(folder / "ours", options.episodes), lerobots(folder / "theirs", options.episodes), strict=True)
        us, them = (middle(side) for side in zip(*turns, strict=True))
        ratio = {key: them[key] / us[key] for key in ("pause_s", "pause_cpu_s")}
        figures: dict[str, Any] = {"ours": us, "lerobot": them, "lerobot / ours": ratio}
        seconds, _ = timed(lambda: load_dataset(folder / "ours"))
        figures["load"] = {"frames_per_s": 2 * STEPS * options.episodes / seconds}
        figures["codec_64x64"] = codec(folder, 64, 64, 200)
        figures["codec_640x480"] = codec(folder, 480, 640, 30)
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for part, values in figures.items():
        print(f"{part:14} " + "  ".join(f"{key} {value:.3g}" for key, value in values.items()))


if __name__ == "__main__":
    main()
