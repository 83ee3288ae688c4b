"""What "No space left on device" means when a camera says it."""

import errno

SAID = "No space left on device"


def usb_hint(error: BaseException) -> str:
    """The end of a message for an error that a camera's driver raised; empty when it is about something else.

    Linux uses the words of a full disk when a USB controller has no bandwidth left for one more video stream.
    """
    cause: BaseException | None = error
    while cause is not None:
        if SAID in str(cause) or (isinstance(cause, OSError) and cause.errno == errno.ENOSPC):
            return (
                "; this is the USB bus, not the disk: it has no bandwidth left for the camera's stream. Plug the "
                "cameras into ports of different controllers, or choose a smaller size, a lower rate or MJPG"
            )
        cause = cause.__cause__ or cause.__context__
    return ""
