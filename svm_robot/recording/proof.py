"""Proof that every frame of a video decodes, at the cost of decoding it once, while the episode runs.

Each packet is decoded as it leaves the encoder, its picture is compared with the one that went in, and its digest is
kept. In the end the packets of the closed file need only have the same digests, in the same order, at their own times.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import DataError

START_CODE = b"\x00\x00\x01"
PROVABLE = ("h264", "hevc")
"""Codecs whose packets can be found again in the file: lists of units, which an encoder parts by start codes and an MP4
file by their lengths. What a file makes of the packets of others is not known here: their files are decoded again."""

BLOCK = 16
"""Edge of the squares whose mean brightness is compared where the codec may lose detail [pixels]."""
THIN = 4
"""Of these squares every so many-th sample is looked at, both ways."""
FAR = 24.0
"""Mean difference of such squares that no quality setting explains [0..255]; blank and torn pictures differ more."""


Samples = NDArray[np.uint8] | NDArray[np.float32]


class LiveProof:
    """Takes the pictures that go into an encoder and the packets that come out. ``exact``: the codec loses nothing."""

    def __init__(self, exact: bool, rate_hz: int) -> None:
        self.exact, self.rate_hz = exact, rate_hz
        self.decoded = 0
        self._packets: list[tuple[int | None, bytes]] = []
        """(number of the picture, digest) in the order of the file."""
        self._expected: deque[list[Samples]] = deque()
        self._decoder: av.VideoCodecContext | None = None

    def expect(self, picture: av.VideoFrame) -> None:
        """A picture goes into the encoder, in the encoder's pixel format."""
        self._expected.append(seen(picture, self.exact))

    def feed(self, packet: av.Packet, stream: av.VideoStream) -> None:
        """A packet came out. Raises ``DataError`` when what it decodes to is not what went in."""
        if self._decoder is None:
            self._decoder = decoder_for(stream)
        self._packets.append((self._number(packet, packet.time_base), digest(packet, stream)))
        self._compare(self._decoder.decode(packet))

    def end(self) -> None:
        """No packet comes any more. Raises ``DataError`` when a picture did not come back."""
        if self._decoder is not None:
            self._compare(self._decoder.decode(None))
        if self._expected:
            raise DataError(f"of {self.decoded + len(self._expected)} pictures only {self.decoded} decode")

    def check(self, path: Path) -> None:
        """Raise ``DataError`` unless the closed file holds exactly the packets that were decoded, readable from it."""
        held = 0
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            unit = stream.time_base
            for packet in container.demux(stream):
                if not packet.size:
                    continue
                if held == 0:
                    check_header(packet, stream, path)
                here = (self._number(packet, unit), digest(packet, stream))
                if held >= len(self._packets) or here != self._packets[held]:
                    raise DataError(f"{path}: picture {held} in the file is not the one that was encoded")
                held += 1
        if held != len(self._packets):
            raise DataError(f"{path} holds {held} of {len(self._packets)} frames")

    def _number(self, packet: av.Packet, unit: Fraction) -> int | None:
        """Number of the picture by its time, which is counted in ``unit`` [s]."""
        if packet.pts is None:
            return None
        return int(2 * packet.pts * unit.numerator * self.rate_hz + unit.denominator) // (2 * unit.denominator)

    def _compare(self, pictures: list[av.VideoFrame]) -> None:
        for picture in pictures:
            number = self.decoded
            if not self._expected:
                raise DataError(f"the encoder gave more pictures than the {number} it was given")
            wanted, got = self._expected.popleft(), seen(picture, self.exact)
            if picture.is_corrupt or not alike(wanted, got, self.exact):
                raise DataError(f"frame {number} decodes to another picture than the one that was encoded")
            self.decoded += 1


def decoder_for(stream: av.VideoStream) -> av.VideoCodecContext:
    """A decoder of its own for a stream that is written or read; one thread, so no picture is held back."""
    decoder = av.CodecContext.create(stream.codec_context.codec.canonical_name, "r")
    decoder.extradata = stream.codec_context.extradata
    decoder.thread_count = 1
    return decoder


def seen(picture: av.VideoFrame, exact: bool) -> list[Samples]:
    """What is compared of a picture: each plane as (H, W), or (not ``exact``) brightness in squares of the first plane.

    Nothing where a sample is no single byte.
    """
    if picture.format.components[0].bits != 8:
        return []
    if not exact:
        return [brightness(samples(picture.planes[0]))]
    return [samples(plane).copy() for plane in picture.planes]


def samples(plane: av.video.plane.VideoPlane) -> NDArray[np.uint8]:
    """(H, W) of a plane, without a copy."""
    return np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]


def brightness(plane: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Mean of each square, from every fourth sample (what remains at the edges is left out)."""
    thinned = plane[::THIN, ::THIN].astype(np.float32)
    high, wide = (max(1, edge * THIN // BLOCK) for edge in thinned.shape)
    cut = thinned[: thinned.shape[0] // high * high, : thinned.shape[1] // wide * wide]
    squares = cut.reshape(high, cut.shape[0] // high, wide, cut.shape[1] // wide)
    return np.asarray(squares.mean(3).mean(1))


def alike(wanted: list[Samples], got: list[Samples], exact: bool) -> bool:
    """True when the pictures are equal, or (not ``exact``) about equally bright everywhere."""
    if [plane.shape for plane in wanted] != [plane.shape for plane in got]:
        return False
    if exact:
        return all(np.array_equal(a, b) for a, b in zip(wanted, got, strict=True))
    return all(np.abs(a - b).mean() < FAR for a, b in zip(wanted, got, strict=True))


def check_header(first: av.Packet, stream: av.VideoStream, path: Path) -> None:
    """Raise ``DataError`` unless the file's own header decodes the file's first packet."""
    decoder = decoder_for(stream)
    if not decoder.decode(first) + decoder.decode(None):
        raise DataError(f"{path}: its first picture does not decode")


def digest(packet: av.Packet, stream: av.VideoStream) -> bytes:
    """SHA-256 of what a packet carries, the same for an encoder's packet and for the file's."""
    total = hashlib.sha256()
    content = bytes(packet)
    with_lengths = bytes(stream.codec_context.extradata or b"")[:1] == b"\x01"
    for unit in parted_by_lengths(content) if with_lengths else parted_by_codes(content):
        total.update(len(unit).to_bytes(4))
        total.update(unit)
    return total.digest()


def parted_by_codes(content: bytes) -> list[bytes]:
    """Units of a packet from an encoder. A unit never holds a start code and never ends in zero."""
    return [unit.rstrip(b"\x00") for unit in content.split(START_CODE)[1:]]


def parted_by_lengths(content: bytes) -> Iterator[memoryview]:
    """Units of a packet from an MP4 file: four bytes of length before each."""
    view, position = memoryview(content), 0
    while position < len(content):
        end = position + 4 + int.from_bytes(view[position : position + 4])
        yield view[position + 4 : end]
        position = end
