"""What went wrong on the line, motor by motor, since the port was opened."""

from dataclasses import asdict, dataclass


@dataclass
class Counters:
    """Of one motor. ``str`` tells those that are not zero."""

    crc: int = 0
    """Replies whose check sum was wrong."""
    short: int = 0
    """Replies that ended early."""
    lost: int = 0
    """Requests without any reply in time."""
    late: int = 0
    """Replies that came after their time, or after the next request; never used."""
    junk: int = 0
    """Bytes that belong to no reply, or replies that nobody had asked for."""
    odd: int = 0
    """Positions that jumped and were not confirmed when asked again."""
    retries: int = 0
    """Requests made again."""
    held: int = 0
    """Positions replaced by the last good one."""
    faults: int = 0
    """Replies with a fault bit."""

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def __str__(self) -> str:
        return " ".join(f"{name} {count}" for name, count in asdict(self).items() if count)
