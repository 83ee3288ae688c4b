"""One episode's frames out of a larger file: the same pixels, or a refusal that names the file and the frame."""

from pathlib import Path

import av
import numpy as np
import pytest
from recordings import numbered

from svm_robot.curation.rebuild.clips import frames_of, take
from svm_robot.curation.rebuild.source import Clip
from svm_robot.data.files import file_digest
from svm_robot.data.video import read_frames
from svm_robot.errors import DataError

RATE = 10
SIZE = (64, 96)


def video(path: Path, frames: int, codec: str, pix_fmt: str, **options: str) -> Path:
    """Pictures with their number in them, over a pattern that moves: frames that are worth predicting from others."""
    noise = np.random.default_rng(0).integers(0, 60, (*SIZE, 3), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, RATE, options={name.replace("_", "-"): options[name] for name in options})
        stream.height, stream.width, stream.pix_fmt = *SIZE, pix_fmt
        for number in range(frames):
            picture = numbered(3 * number, *SIZE) // 2 + np.roll(noise, number, 1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def key_frames(path: Path) -> list[int]:
    """Numbers of the key frames, in decoding order."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        packets = [packet for packet in container.demux(stream) if packet.size]
        return [round(float(packet.pts * packet.time_base) * RATE) for packet in packets if packet.is_keyframe]


def pictures(path: Path, first: int = 0, frames: int | None = None) -> np.ndarray:
    found = [picture for _, picture in read_frames(path, RATE)]
    return np.stack(found[first:] if frames is None else found[first : first + frames])


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same frames, in the codings that people have."""
    folder = tmp_path_factory.mktemp("codings")
    ours = {"codec": "h264", "pix_fmt": "yuv444p", "g": "2", "crf": "0", "preset": "ultrafast"}
    reordered = {"codec": "h264", "pix_fmt": "yuv420p", "g": "6", "crf": "20", "bf": "2"}  # some refer to later frames
    codings = {
        "ours": ours,
        "reordered": reordered | {"x264_params": "b-adapt=0:scenecut=0:open-gop=0"},
        "open": reordered | {"x264_params": "b-adapt=0:scenecut=0:open-gop=1"},
        "av1": {"codec": "libsvtav1", "pix_fmt": "yuv420p", "g": "2", "crf": "30", "preset": "12"},
    }
    return {name: video(folder / f"{name}.mp4", 24, **coding) for name, coding in codings.items()}


@pytest.mark.parametrize("first", [0, 6, 18])
@pytest.mark.parametrize("name", ["ours", "reordered", "av1"])
def test_a_clip_that_begins_at_a_key_frame_is_copied_pixel_for_pixel(
    sources: dict[str, Path], tmp_path: Path, name: str, first: int
) -> None:
    taken = take(Clip(sources[name], first, 6, RATE), tmp_path / "clip.mp4", None)
    assert taken.copied
    assert np.array_equal(pictures(tmp_path / "clip.mp4"), pictures(sources[name], first, 6))
    assert [number for number, _ in read_frames(tmp_path / "clip.mp4", RATE)] == list(range(6))
    assert int(taken.stats["count"][0]) == 6


@pytest.mark.parametrize(("name", "first"), [("reordered", 8), ("open", 6)])
def test_a_clip_that_cannot_be_cut_out_is_encoded_again(
    sources: dict[str, Path], tmp_path: Path, name: str, first: int
) -> None:
    """It begins between key frames; or at one, but shares packets with its neighbour."""
    clip = Clip(sources[name], first, 5, RATE)
    assert (first in key_frames(sources[name])) == (name == "open")
    assert not take(clip, tmp_path / "clip.mp4", None).copied
    made, wanted = pictures(tmp_path / "clip.mp4").astype(int), np.stack(list(frames_of(clip))).astype(int)
    assert made.shape == wanted.shape and np.abs(made - wanted).max() <= 4


def test_a_clip_that_ends_between_key_frames_is_copied_where_nothing_refers_beyond_it(
    sources: dict[str, Path], tmp_path: Path
) -> None:
    assert take(Clip(sources["ours"], 4, 5, RATE), tmp_path / "clip.mp4", None).copied
    assert np.array_equal(pictures(tmp_path / "clip.mp4"), pictures(sources["ours"], 4, 5))


def test_frames_that_are_not_there_are_named(sources: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ours.mp4 holds 4 of the 6 frames from number 20 on"):
        take(Clip(sources["ours"], 20, 6, RATE), tmp_path / "clip.mp4", None)
    with pytest.raises(DataError, match="is missing although"):
        take(Clip(tmp_path / "gone.mp4", 0, 6, RATE), tmp_path / "clip.mp4", None)


def test_a_file_that_is_not_what_was_saved_is_refused_by_its_digest(sources: dict[str, Path], tmp_path: Path) -> None:
    whole = sources["ours"]
    take(Clip(whole, 0, 24, RATE, file_digest(whole)), tmp_path / "copy.mp4", None)
    assert (tmp_path / "copy.mp4").read_bytes() == whole.read_bytes()
    bent = bytearray(whole.read_bytes())
    bent[len(bent) // 2] ^= 1
    (tmp_path / "bent.mp4").write_bytes(bent)
    with pytest.raises(DataError, match="its digest is another one"):
        take(Clip(tmp_path / "bent.mp4", 0, 24, RATE, file_digest(whole)), tmp_path / "clip.mp4", None)


def test_what_is_no_video_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("not a video")
    with pytest.raises(DataError, match=r"text.mp4: its frames could not be copied"):
        take(Clip(tmp_path / "text.mp4", 0, 3, RATE), tmp_path / "clip.mp4", None)
