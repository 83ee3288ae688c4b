"""What a video device of Linux says of itself: whether it takes pictures at all, and in which modes.

Plain ioctls: opening a device this way neither starts it nor disturbs who is using it.
"""

import errno
import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from svm_robot.drivers.cameras.mode import Mode

Ioctl = Callable[[int, int, bytearray], int]

QUERYCAP, ENUM_FMT, ENUM_FRAMESIZES, ENUM_FRAMEINTERVALS = 0x80685600, 0xC0405602, 0xC02C564A, 0xC034564B
CAPTURE, CAPTURE_MPLANE, HAS_DEVICE_CAPS = 0x1, 0x1000, 0x80000000
CAPTURE_TYPE = 1
DISCRETE = 1
MOST = 64
"""No device has more formats, sizes or rates; one whose list never ends must not hang us."""

_CAPABILITY = struct.Struct("<16s32s32sIII12x")  # driver, card, bus, version, capabilities of all nodes, of this one
_FORMAT = struct.Struct("<III32sI16x")
_SIZE = struct.Struct("<IIIIIIIII8x")
_INTERVAL = struct.Struct("<IIIIIIIIIII8x")


def system_ioctl(descriptor: int, request: int, buffer: bytearray) -> int:
    """The kernel's."""
    return int(fcntl.ioctl(descriptor, request, buffer, True))


def can_capture(path: str, ioctl: Ioctl = system_ioctl) -> bool:
    """False for nodes that carry metadata, outputs, or nothing we may look at. UVC cameras have one of each."""
    buffer = bytearray(_CAPABILITY.size)
    try:
        with _opened(path) as descriptor:
            ioctl(descriptor, QUERYCAP, buffer)
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM)  # there is something; the permission problem is told later
    *_, everything, own = _CAPABILITY.unpack(buffer)
    return bool((own if everything & HAS_DEVICE_CAPS else everything) & (CAPTURE | CAPTURE_MPLANE))


def modes(path: str, ioctl: Ioctl = system_ioctl) -> list[Mode]:
    """Every mode it offers, the format first; empty when it cannot be asked."""
    try:
        with _opened(path) as descriptor:
            return [
                Mode(width, height, fps, fourcc)
                for fourcc in _formats(descriptor, ioctl)
                for width, height in _sizes(descriptor, fourcc, ioctl)
                for fps in _rates(descriptor, fourcc, width, height, ioctl)
            ]
    except OSError:
        return []


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _listed(descriptor: int, request: int, ioctl: Ioctl, make: Callable[[int], bytes]) -> Iterator[bytearray]:
    """Answers number 0, 1, ... of one of V4L2's listings, up to the EINVAL that ends it."""
    for index in range(MOST):
        buffer = bytearray(make(index))
        try:
            ioctl(descriptor, request, buffer)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTTY):
                return
            raise
        yield buffer


def _formats(descriptor: int, ioctl: Ioctl) -> list[str]:
    answers = _listed(descriptor, ENUM_FMT, ioctl, lambda index: _FORMAT.pack(index, CAPTURE_TYPE, 0, b"", 0))
    return [_FORMAT.unpack(answer)[4].to_bytes(4, "little").decode("latin-1") for answer in answers]


def _sizes(descriptor: int, fourcc: str, ioctl: Ioctl) -> list[tuple[int, int]]:
    code = int.from_bytes(fourcc.encode("latin-1"), "little")
    found = []
    for answer in _listed(descriptor, ENUM_FRAMESIZES, ioctl, lambda index: _SIZE.pack(index, code, *[0] * 7)):
        _, _, kind, *values = _SIZE.unpack(answer)
        if kind != DISCRETE:  # any size between two: the largest stands for them
            return [(values[1], values[4])]
        found.append((values[0], values[1]))
    return found


def _rates(descriptor: int, fourcc: str, width: int, height: int, ioctl: Ioctl) -> list[float]:
    code = int.from_bytes(fourcc.encode("latin-1"), "little")

    def ask(index: int) -> bytes:
        return _INTERVAL.pack(index, code, width, height, *[0] * 7)

    found = []
    for answer in _listed(descriptor, ENUM_FRAMEINTERVALS, ioctl, ask):
        _, _, _, _, kind, numerator, denominator, *_ = _INTERVAL.unpack(answer)
        if numerator:
            found.append(round(denominator / numerator, 3))
        if kind != DISCRETE:  # any rate up to the one of the shortest interval
            break
    return found
