"""Takes one episode's frames out of a video file without encoding them again.

Packets are copied as they are, so every decoded pixel stays what it was. That needs an episode that begins at a key
frame and shares no packet with its neighbours; every LeRobot dataset is made so. Another one is encoded again.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av

from svm_robot.curation.rebuild.source import Clip
from svm_robot.data.episode_stats import PictureStats, Stats
from svm_robot.data.files import file_digest
from svm_robot.data.video import read_frames
from svm_robot.errors import DataError
from svm_robot.recording.encoder import Encoding, VideoEncoder
from svm_robot.rollout.env import ImageArray


@dataclass(frozen=True)
class Taken:
    """A clip in a file of its own."""

    copied: bool
    """False: it had to be encoded again."""
    stats: Stats


def take(clip: Clip, target: Path, known: Stats | None) -> Taken:
    """Put a clip into the new file ``target`` and prove that every frame of it decodes, or is byte for byte the same.

    ``known`` are the statistics of its pictures, computed when None. Raises ``DataError`` for a clip that is not whole.
    """
    if clip.digest:
        shutil.copyfile(there(clip), target)
        if file_digest(target) != clip.digest:
            raise DataError(f"{clip.path} is not what was saved: its digest is another one; the file is damaged")
        return Taken(True, known or watch(target, clip))
    if copy_packets(clip, target):
        stats = watch(target, clip)
        return Taken(True, known or stats)
    return Taken(False, encode(frames_of(clip), target, clip.frames, clip.rate_hz))


def copy_packets(clip: Clip, target: Path) -> bool:
    """Copy the packets of a clip into a file that begins at time 0; False when it cannot be cut out."""
    try:
        with av.open(str(there(clip))) as source:
            stream = source.streams.video[0]
            packets = own_packets(source, stream, clip)
            if packets is None:
                return False
            with av.open(str(target), "w") as sink:
                output = sink.add_stream_from_template(stream, opaque=True)
                begin = packets[0].pts
                for packet in packets:
                    packet.pts, packet.dts, packet.stream = packet.pts - begin, packet.dts - begin, output
                    sink.mux(packet)
    except (av.error.FFmpegError, IndexError) as error:
        raise DataError(f"{clip.path}: its frames could not be copied ({error})") from error
    return True


def own_packets(
    source: av.container.InputContainer, stream: av.video.stream.VideoStream, clip: Clip
) -> list[av.packet.Packet] | None:
    """The packets of a clip in decoding order; None when packets of others lie between them or are needed first."""
    begin, end = clip.first_frame, clip.first_frame + clip.frames
    source.seek(round(begin / clip.rate_hz / stream.time_base), stream=stream, backward=True)
    inside: dict[int, av.packet.Packet] = {}
    mixed = False
    for packet in source.demux(stream):
        if packet.pts is None or packet.size == 0:
            continue
        number = round(float(packet.pts * packet.time_base) * clip.rate_hz)
        if begin <= number < end:
            inside[number] = packet
        mixed |= bool(inside) and number not in inside
        if len(inside) == clip.frames or number >= end + 64:
            break
    if len(inside) < clip.frames:
        raise DataError(f"{clip.path} holds {len(inside)} of the {clip.frames} frames from number {begin} on")
    first = next(iter(inside))
    return None if mixed or first != begin or not inside[first].is_keyframe else list(inside.values())


def watch(path: Path, clip: Clip) -> Stats:
    """Statistics of all pictures of a finished file. Raises ``DataError`` unless every frame decodes."""
    stats = PictureStats()
    for number, picture in read_frames(path, clip.rate_hz):
        if number != stats.frames:
            raise DataError(f"{clip.path}: frame {clip.first_frame + stats.frames} does not decode")
        stats.add(picture)
    if stats.frames != clip.frames:
        raise DataError(f"{clip.path}: {stats.frames} of {clip.frames} frames from number {clip.first_frame} on decode")
    return stats.result()


def frames_of(clip: Clip) -> Iterator[ImageArray]:
    """Decode a clip: (H, W, 3) RGB."""
    end = clip.first_frame + clip.frames
    for number, picture in read_frames(there(clip), clip.rate_hz):
        if clip.first_frame <= number < end:
            yield picture
        elif number >= end:
            return


def encode(pictures: Iterator[ImageArray], target: Path, rows: int, rate_hz: float) -> Stats:
    """Encode (H, W, 3) RGB pictures, one for each of ``rows`` rows. Raises ``DataError`` when there are others."""
    encoder: VideoEncoder | None = None
    try:
        for picture in pictures:
            if encoder is None:
                height, width = picture.shape[:2]
                encoder = VideoEncoder(target, (height, width), round(rate_hz), Encoding())
                encoder.start()
            encoder.put(picture)
        if encoder is None:
            raise DataError(f"{target.parent.name}: no pictures for {rows} rows")
        return encoder.finish(rows)
    finally:
        if encoder is not None:
            encoder.cancel()


def there(clip: Clip) -> Path:
    """The clip's file. Raises ``DataError`` when it is gone."""
    if not clip.path.is_file():
        raise DataError(f"{clip.path} is missing although the dataset counts episodes in it")
    return clip.path
