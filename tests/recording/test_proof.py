"""Every frame of a video is proven readable while it is made, whatever goes wrong between encoder and disk."""

import av
import numpy as np
import pytest

from svm_robot.data.video import check_frames, read_frames
from svm_robot.errors import DataError
from svm_robot.recording import encoder, proof
from svm_robot.recording.encoder import Encoding, VideoEncoder


@pytest.fixture
def path(tmp_path):
    (tmp_path / "front").mkdir()
    return tmp_path / "front" / "video.mp4"


def noise(number=0, height=48, width=64):
    rng = np.random.default_rng(number)
    return (rng.integers(0, 60, (height, width, 3)) + 10 * (number % 15)).astype(np.uint8)


def encode(path, frames, encoding=None):
    used = VideoEncoder(path, frames[0].shape[:2], 10, encoding or Encoding())
    used.start()
    try:
        for frame in frames:
            used.put(frame)
        return used.finish(len(frames))
    finally:
        used.cancel()


@pytest.mark.parametrize(
    "encoding",
    [
        Encoding(),
        Encoding(small_crf=30),
        Encoding(small_crf=51),
        Encoding(preset="medium", g=12),
        Encoding(pix_fmt="yuv420p"),
        Encoding(vcodec="hevc"),
        Encoding(vcodec="mpeg4", pix_fmt="yuv420p"),
    ],
    ids=["lossless", "lossy", "coarse", "b-frames", "half-colour", "hevc", "unprovable"],
)
def test_what_codecs_do_to_packets_is_no_damage(path, encoding):
    encode(path, [noise(number) for number in range(30)], encoding)
    check_frames(path, 30, 10)


def test_packets_of_every_small_length_are_told_apart(path):
    """The four bytes of a length between 256 and 511 look like a start code."""
    frames = [np.full((32, 32, 3), 90, np.uint8) for _ in range(40)]
    for number, frame in enumerate(frames):
        frame[: number % 5 + 1, : number + 1] = noise(number, number % 5 + 1, min(32, number + 1))
    encode(path, frames)
    assert len(list(read_frames(path, 10))) == 40


def swallowing(self, container, stream, packets):
    kept = [packet for packet in packets if (packet.pts or 0) % 3 == 0]
    VideoEncoder.whole(self, container, stream, kept)


def test_an_encoder_that_gives_one_of_three_pictures_is_noticed(path, monkeypatch):
    monkeypatch.setattr(VideoEncoder, "whole", VideoEncoder._write, raising=False)
    monkeypatch.setattr(VideoEncoder, "_write", swallowing)
    with pytest.raises(DataError, match=r"decodes to another picture|of 9 pictures only \d decode"):
        encode(path, [noise(number) for number in range(9)], Encoding(g=1))


def test_an_encoder_that_gives_another_picture_is_noticed(path, monkeypatch):
    expect = proof.LiveProof.expect

    def swapped(self, picture):
        other = av.VideoFrame.from_ndarray(noise(99), format="rgb24").reformat(format="yuv444p")
        expect(self, other if picture.pts == 4 else picture)

    monkeypatch.setattr(proof.LiveProof, "expect", swapped)
    with pytest.raises(DataError, match="frame 4 decodes to another picture"):
        encode(path, [noise(number) for number in range(8)])


@pytest.mark.parametrize("encoding", [Encoding(), Encoding(small_crf=40)], ids=["lossless", "lossy"])
def test_a_blank_picture_is_noticed(encoding):
    shown, blank = (
        av.VideoFrame.from_ndarray(frame, format="rgb24").reformat(format="yuv444p")
        for frame in (noise(14), np.zeros((48, 64, 3), np.uint8))
    )
    proofs = [proof.seen(picture, encoding.lossless(48, 64)) for picture in (shown, blank)]
    assert proof.alike(proofs[0], proofs[0], encoding.lossless(48, 64))
    assert not proof.alike(*proofs, encoding.lossless(48, 64))


@pytest.mark.parametrize("where", [0.3, 0.6, 0.95])
def test_bytes_that_change_between_encoder_and_disk_are_noticed(path, monkeypatch, where):
    """Also in the middle of a long video, where nothing is decoded again after the episode."""
    real = encoder.sync

    def damaging(target):
        real(target)
        content = bytearray(target.read_bytes())
        place = int(len(content) * where)
        content[place : place + 8] = bytes(8 * [content[place] ^ 0x55])
        target.write_bytes(bytes(content))

    monkeypatch.setattr(encoder, "sync", damaging)
    with pytest.raises(DataError, match="could not be saved"):
        encode(path, [noise(number) for number in range(60)])


def test_a_file_that_lost_its_end_is_noticed(path, monkeypatch):
    monkeypatch.setattr(encoder, "sync", lambda target: target.write_bytes(target.read_bytes()[:-2000]))
    with pytest.raises(DataError, match="could not be saved"):
        encode(path, [noise(number) for number in range(20)])


def test_another_order_or_number_of_pictures_is_noticed(path):
    encode(path, [noise(number) for number in range(6)])
    for wrong in (noise(1), None):
        prover = proof.LiveProof(True, 10)
        again = [noise(number) for number in range(6)]
        again[2] = wrong
        fed = [frame for frame in again if frame is not None]
        record(prover, fed)
        with pytest.raises(DataError, match=r"not the one that was encoded"):
            prover.check(path)


def record(prover, frames):
    """Feed a prover as the encoder does, without keeping the file."""
    with av.open("/dev/null", "w", format="mp4") as container:
        stream = container.add_stream("h264", 10, options=Encoding().options(48, 64))
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv444p"
        for number, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24").reformat(format="yuv444p")
            picture.pts = number
            prover.expect(picture)
            for packet in stream.encode(picture):
                prover.feed(packet, stream)
        for packet in stream.encode(None):
            prover.feed(packet, stream)
    prover.end()
