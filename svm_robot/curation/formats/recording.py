"""Finds out what a recording is, and opens it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from svm_robot.curation.formats import lerobot_v2, lerobot_v3
from svm_robot.curation.formats.files_at import PICKLE, pickles_in, read_json
from svm_robot.curation.formats.opened import ImportOptions, Opened
from svm_robot.curation.formats.pieces import Header
from svm_robot.curation.formats.whole import left_out, role_of
from svm_robot.curation.rebuild.source import open_source
from svm_robot.data import columns
from svm_robot.data.layout import INFO
from svm_robot.data.schema import whole_rate
from svm_robot.errors import DataError, SvmRobotError

FORMATS = ("lerobot", "hdf5", "hilserl")
HDF5 = (".hdf5", ".h5", ".hdf")
PACKED = (".gz", ".bz2", ".xz")


def open_recording(path: Path, kind: str, options: ImportOptions) -> Opened:
    """A recording as a source; ``kind`` is one of ``FORMATS`` or ``auto``.

    Nothing is written, and nothing of ``path`` is changed. Raises ``DataError`` when it is none that can be read.
    """
    kind = detect(path) if kind == "auto" else kind
    if kind == "hdf5":
        from svm_robot.curation.formats.hdf5 import open_hdf5

        return open_hdf5(path, options)
    if kind == "hilserl":
        from svm_robot.curation.formats.hilserl import open_hilserl

        return open_hilserl(path, options)
    return open_lerobot(path, options)


def detect(path: Path) -> str:
    """The format of a recording, by its names. Raises ``DataError`` when it is none that is known."""
    if not path.exists():
        raise DataError(f"there is no {path}")
    if path.is_dir():
        if (path / INFO).is_file():
            return "lerobot"
        if pickles_in(path):
            return "hilserl"
        raise DataError(
            f"{path} is no recording that can be imported: it has no {INFO} (a LeRobot dataset) and no *.pkl files "
            "(HIL-SERL transitions). RLDS and ROS bags are not read"
        )
    suffixes = [suffix for suffix in path.suffixes if suffix not in PACKED]
    if suffixes and suffixes[-1] in HDF5:
        return "hdf5"
    if suffixes and suffixes[-1] in PICKLE:
        return "hilserl"
    raise DataError(f"{path}: the format is not known by its name; say it with --from={'|'.join(FORMATS)}")


def open_lerobot(root: Path, options: ImportOptions) -> Opened:
    """A LeRobot dataset of any version that is known."""
    info = read_json(root / INFO)
    version = str(info.get("codebase_version", "none"))
    version = version if version.startswith("v") else f"v{version}"
    if version not in lerobot_v2.VERSIONS + lerobot_v3.VERSIONS:
        raise DataError(
            f"{root} says it is LeRobot dataset version '{info.get('codebase_version')}'; those that can be imported "
            f"are {', '.join(lerobot_v2.VERSIONS + lerobot_v3.VERSIONS)}"
        )
    refuse_useless(options, root, version)
    lacking = [key for key in ("fps", "features", "data_path", "total_episodes") if key not in info]
    if lacking:
        raise DataError(f"{root / INFO} lacks {', '.join(lacking)}; every LeRobot dataset has them")
    robot_type = options.robot_type or info.get("robot_type")
    header = Header(root, f"LeRobot {version}", rate_of(info), robot_type, options.time)
    try:
        if version in lerobot_v2.VERSIONS:
            return lerobot_v2.open_v2(header, info, options)
        if columns.EPISODE_UID in info["features"]:
            return open_ours(header, options)
        return lerobot_v3.open_v3(header, info, options)
    except (KeyError, TypeError, AttributeError, ValueError) as error:  # whatever a stranger's metadata may hold
        if isinstance(error, SvmRobotError):
            raise
        raise DataError(f"the metadata of {root} cannot be read ({type(error).__name__}: {error})") from error


def open_ours(header: Header, options: ImportOptions) -> Opened:
    """A dataset of svm_robot's own: ids, labels and provenance come along."""
    if options.only_whole:
        raise DataError(f"{header.root} is a dataset of svm_robot: 'svm-robot data repair' keeps its whole episodes")
    source = open_source(header.root)
    features = source.info["features"]
    pictures = {role_of(key): key for key, feature in features.items() if feature["dtype"] in ("video", "image")}
    dropped = left_out(pictures, options)
    kept = {key: feature for key, feature in features.items() if key not in dropped}
    episodes = [
        replace(episode, clips={key: clip for key, clip in episode.clips.items() if key not in dropped})
        for episode in source.episodes
    ]
    info = source.info | {"features": kept, "robot_type": header.robot_type}
    source = replace(source, info=info, episodes=episodes)
    return Opened(source, "svm_robot", ("recorded by svm_robot: its ids, labels and provenance come along",))


def rate_of(info: dict[str, Any]) -> int:
    """The rate of the dataset. Raises ``DataError`` when it is no whole number of Hz."""
    try:
        return whole_rate(float(info["fps"]))
    except (TypeError, ValueError) as error:
        raise DataError(f"{INFO} says fps is {info['fps']!r}; a LeRobot dataset needs a whole number of Hz") from error


def refuse_useless(options: ImportOptions, root: Path, version: str) -> None:
    """Raise ``DataError`` for options that say what a LeRobot dataset says itself."""
    given = {"--fps": options.rate_hz, "--task": options.task, "--state": options.state}
    useless = [name for name, value in given.items() if value is not None]
    if useless:
        raise DataError(
            f"{root} is a LeRobot {version} dataset, which says that itself: leave {', '.join(useless)} out"
        )
