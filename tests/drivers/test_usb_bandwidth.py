"""A camera that finds no bandwidth on its USB bus uses the words of a full disk; nobody may be sent to clear a disk."""

import errno

import pytest

from svm_robot.drivers.connect import connect
from svm_robot.drivers.usb.bandwidth import usb_hint
from svm_robot.errors import DeviceError, DiskError


class Crowded:
    name = "two_cameras"
    is_connected = False

    def connect(self, calibrate):
        try:
            raise OSError(errno.ENOSPC, "No space left on device", "/dev/video2")
        except OSError as error:
            raise ConnectionError("camera wrist does not open") from error

    def disconnect(self): ...


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "x"), RuntimeError("VIDIOC_STREAMON: No space left on device"), ConnectionError("(28)")],
)
def test_the_bus_is_named_and_only_when_it_is_the_bus(error):
    assert ("USB bus, not the disk" in usb_hint(error)) == ("(28)" not in str(error))


def test_a_camera_that_finds_no_bandwidth_is_no_full_disk():
    with pytest.raises(DeviceError, match=r"camera wrist does not open.*USB bus, not the disk") as caught:
        connect(Crowded(), "robot")
    assert not isinstance(caught.value, DiskError)
    assert caught.value.exit_code == 5
