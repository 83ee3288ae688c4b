"""Figures of a dataset, against recordings whose figures are known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordings import record_toy
from toys import ToyEnv, ToyOperator, ToySpec

from svm_robot.curation.rebuild.rebuild import rebuild
from svm_robot.curation.rebuild.source import SourceEpisode, open_source
from svm_robot.curation.statistics import dataset_figures
from svm_robot.data import columns
from svm_robot.data.provenance import Provenance
from svm_robot.errors import DataError
from svm_robot.recording.recorder import Recorder
from svm_robot.rollout import run_episode


class Stubborn:
    """Asks for 150, which is clipped to 100, and leaves the second joint at 7."""

    source, latent = "script", None

    def reset(self, seed: int | None = None) -> None: ...

    def act(self, observation: object) -> np.ndarray:
        return np.array([[150.0, 7.0]], np.float32)


@pytest.fixture(scope="module")
def clipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clipped") / "d"
    env = ToyEnv(ToySpec(cameras={"front": (32, 48)}))
    with_task = Recorder(root, env.spec, "push", by="judge")
    with_task.open()
    for seed in range(2):
        run_episode(env, Stubborn(), ToyOperator(env), max_steps=6, seed=seed, listeners=[with_task])
    with_task.close()
    return root


def test_counts_ranges_and_clips(clipped: Path) -> None:
    figures = dataset_figures(clipped)
    assert (figures.episodes, figures.frames, figures.robot_type, figures.rate_hz) == (2, 12, "toy", 10)
    assert figures.minutes == pytest.approx(12 / 600)
    assert figures.outcomes == {"failure": 2} and figures.tasks == {"push": 2}
    assert figures.clip_rate == 1.0 and figures.intervention_rate == 0.0
    action = {found.name: found for found in figures.ranges if found.column == columns.ACTION}
    assert (action["a.pos"].least, action["a.pos"].greatest) == (100, 100)
    assert [name for name, found in action.items() if found.constant] == ["a.pos", "b.pos"]
    assert not any(found.constant for found in figures.ranges if found.column == columns.STATE)


def test_cameras_and_times(clipped: Path) -> None:
    figures = dataset_figures(clipped)
    camera = figures.cameras["front"]
    assert (camera.height, camera.width, camera.kept_as) == (32, 48, "h264 yuv444p")
    assert camera.bytes == sum(path.stat().st_size for path in clipped.rglob("*.mp4"))
    assert camera.rate_hz == pytest.approx(10)
    assert [found.rate_hz for found in figures.times] == pytest.approx([10, 10])


def with_column(episode: SourceEpisode, name: str, change: Any) -> SourceEpisode:
    def table() -> Mapping[str, Any]:
        values = dict(episode.table())
        values[name] = change(np.array(values[name]))
        return values

    return SourceEpisode(**{**vars(episode), "table": table})


def test_a_camera_that_repeats_itself_and_a_loop_that_stops_show(clipped: Path, tmp_path: Path) -> None:
    def halved(times: np.ndarray) -> np.ndarray:
        return times[np.arange(len(times)) // 2 * 2]

    def late(times: np.ndarray) -> np.ndarray:
        return times + np.where(np.arange(len(times)) > 3, 0.7, 0.0)

    source = open_source(clipped)
    first = with_column(source.episodes[0], columns.FRAME_TIME + "front", halved)
    second = with_column(source.episodes[1], columns.STATE_TIME, late)
    still = with_column(second, columns.FRAME_TIME + "front", halved)
    rebuild(tmp_path / "d", source.info, [first, still], [], Provenance())
    figures = dataset_figures(tmp_path / "d")
    assert figures.cameras["front"].rate_hz == pytest.approx(5)
    assert [found.worst_gap_s for found in figures.times] == pytest.approx([0.1, 0.8])
    assert figures.outcomes == {"unlabelled": 2}


def test_single_pictures_and_datasets_without_times(tmp_path: Path) -> None:
    from lerobot_reading import write_with_lerobot

    write_with_lerobot(tmp_path / "stack", "image")
    figures = dataset_figures(tmp_path / "stack")
    camera = figures.cameras["top"]
    assert camera.kept_as == "pictures" and camera.rate_hz is None
    assert 15 * 2000 < camera.bytes < sum(path.stat().st_size for path in (tmp_path / "stack/data").rglob("*.parquet"))
    assert figures.times == () and figures.clip_rate is None


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    record_toy(tmp_path / "d", "s", max_steps=2)
    next((tmp_path / "d").glob("data/*/*.parquet")).write_bytes(b"torn")
    for root, complaint in ((tmp_path / "none", "does not exist"), (tmp_path, "not a LeRobot dataset")):
        with pytest.raises(DataError, match=complaint):
            dataset_figures(root)
    with pytest.raises(DataError, match="unfinished or damaged"):
        dataset_figures(tmp_path / "d")
