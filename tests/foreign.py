"""Small recordings in the formats of others, written by hand."""

import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import av
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from recordings import numbered

LENGTHS = (5, 9, 4)
RATE_HZ = 10
CAMERA = "observation.images.top"


def numbers(length: int, episode: int) -> NDArray[np.float32]:
    """(T, 2) that tell episode and row."""
    return np.stack([np.arange(length), np.full(length, 100 * episode)], 1).astype(np.float32) / 7


def picture(episode: int, row: int) -> NDArray[np.uint8]:
    """A picture that tells episode and row."""
    return numbered(20 * episode + row)


def write_video(path: Path, pictures: Sequence[NDArray[np.uint8]], rate_hz: int = RATE_HZ) -> None:
    """Lossless, as LeRobot encodes: every second frame can be decoded on its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("h264", rate_hz, options={"crf": "0", "preset": "ultrafast", "g": "2"})
        stream.pix_fmt, stream.height, stream.width = "yuv444p", *pictures[0].shape[:2]
        for shown in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
        container.mux(stream.encode(None))


def scalar(dtype: str) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [1], "names": None}


def features(names: Any = None, camera: bool = True) -> dict[str, Any]:
    """The feature table of the recordings here."""
    table = {
        "observation.state": {"dtype": "float32", "shape": [2], "names": names},
        "action": {"dtype": "float32", "shape": [2], "names": names},
        "next.success": scalar("bool"),
    }
    if camera:
        shape = {"shape": [32, 32, 3], "names": ["height", "width", "channel"]}
        table[CAMERA] = {"dtype": "video", **shape, "info": {"video.fps": float(RATE_HZ)}}
    table |= {"timestamp": scalar("float32")}
    return table | {key: scalar("int64") for key in ("frame_index", "episode_index", "index", "task_index")}


def rows(episode: int, length: int, start: int) -> dict[str, Any]:
    """Columns of one episode; the second one succeeds."""
    return {
        "observation.state": list(numbers(length, episode)),
        "action": list(numbers(length, episode) + 1),
        "next.success": (np.arange(length) == length - 1) & (episode == 1),
        "timestamp": (np.arange(length) / RATE_HZ).astype(np.float32),
        "frame_index": np.arange(length),
        "episode_index": np.full(length, episode),
        "index": np.arange(start, start + length),
        "task_index": np.zeros(length, np.int64),
    }


def write_v2(root: Path, version: str = "v2.1", change: Any = None, **info: Any) -> Path:
    """Three episodes as LeRobot v2 keeps them. ``change``: told (episode, columns) before they are written."""
    meta = root / "meta"
    meta.mkdir(parents=True)
    (meta / "tasks.jsonl").write_text(json.dumps({"task_index": 0, "task": "stack"}) + "\n")
    lines = []
    for episode, length in enumerate(LENGTHS):
        columns = rows(episode, length, sum(LENGTHS[:episode]))
        if change is not None:
            change(episode, columns)
        path = root / f"data/chunk-000/episode_{episode:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)
        write_video(
            root / f"videos/chunk-000/{CAMERA}/episode_{episode:06d}.mp4", [picture(episode, n) for n in range(length)]
        )
        lines.append({"episode_index": episode, "tasks": ["stack"], "length": length})
    (meta / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    written = {
        "codebase_version": version,
        "robot_type": "foreign",
        "total_episodes": len(LENGTHS),
        "total_frames": sum(LENGTHS),
        "chunks_size": 1000,
        "fps": RATE_HZ,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        "features": features(),
    }
    (meta / "info.json").write_text(json.dumps(written | info))
    return root


def write_v3(root: Path) -> Path:
    """The same episodes by LeRobot's own writer: all of them in one file of each kind."""
    from lerobot.configs import RGBEncoderConfig
    from lerobot.datasets import LeRobotDataset

    table = {key: {**feature, "shape": tuple(feature["shape"])} for key, feature in features().items()}
    kept = {key: table[key] for key in ("observation.state", "action", "next.success", CAMERA)}
    quality = RGBEncoderConfig(vcodec="h264", crf=0, preset="ultrafast", pix_fmt="yuv444p")
    made = LeRobotDataset.create(
        "local/x", RATE_HZ, kept, root=root, robot_type="foreign", rgb_encoder=quality, video_backend="pyav"
    )
    for episode, length in enumerate(LENGTHS):
        columns = rows(episode, length, 0)
        for row in range(length):
            made.add_frame(
                {
                    "observation.state": columns["observation.state"][row],
                    "action": columns["action"][row],
                    "next.success": columns["next.success"][row : row + 1],
                    CAMERA: picture(episode, row),
                    "task": "stack",
                }
            )
        made.save_episode(parallel_encoding=False)
    made.finalize()
    return root


def edit_info(root: Path, **changes: Any) -> None:
    """Replace entries of ``meta/info.json``; None removes one."""
    path = root / "meta/info.json"
    info = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in info.items() if key not in changes or value is not None}))


def transitions(ends: str = "sf") -> list[dict[str, Any]]:
    """HIL-SERL transitions, four for each letter: ``s`` rewarded, ``f`` done without, ``t`` cut off by a time limit."""
    made = []
    for episode, end in enumerate(ends):
        seen = [observation(episode, row) for row in range(5)]
        for row in range(4):
            last = row == 3
            made.append(
                {
                    "observations": seen[row],
                    "actions": np.array([row, episode, 0.5]),
                    "next_observations": seen[row + 1],
                    "rewards": np.float32(last and end == "s"),
                    "masks": 1.0 - (last and end != "t"),
                    "dones": np.bool_(last and end != "t"),
                    "infos": {"succeed": last and end == "s"} | ({"intervene_action": np.zeros(3)} if row == 1 else {}),
                }
            )
    return made


def observation(episode: int, row: int) -> dict[str, Any]:
    """As SERL's wrappers leave it: a stack of one in front."""
    return {
        "state": np.array([[row, episode]], np.float32) / 7,
        "wrist_1": picture(episode, row)[None],
    }


def write_pickle(path: Path, value: Any, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


def write_robomimic(path: Path, attributes: Mapping[str, Any] | None = None) -> Path:
    """Three demos as robomimic's robosuite datasets have them, the last one listed first."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = sum(LENGTHS)
        arguments = {"control_freq": RATE_HZ, "robots": ["Panda"]}
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "type": 1, "env_kwargs": arguments})
        data.attrs.update(attributes or {})
        for episode, length in reversed(list(enumerate(LENGTHS))):
            demo = data.create_group(f"demo_{episode}")
            demo.attrs["num_samples"] = length
            demo["actions"] = numbers(length, episode).astype(np.float64) + 1
            demo["rewards"] = (np.arange(length) == length - 1) * float(episode == 1)
            demo["dones"] = (np.arange(length) == length - 1).astype(np.int64)
            demo["states"] = np.zeros((length, 30))
            demo["obs/robot0_joint_pos"] = numbers(length, episode).astype(np.float64)
            demo["obs/robot0_gripper_qpos"] = np.full((length, 1), 0.04)
            demo["obs/object"] = np.zeros((length, 10))
            demo["obs/agentview_image"] = np.stack([picture(episode, row) for row in range(length)])
            demo["obs/agentview_depth"] = np.zeros((length, 32, 32, 1), np.float32)
    return path
