"""Requests and their replies. What is returned is whole, undamaged, and the answer to this very request.

The protocols number nothing, so a late reply to the previous request looks like one to the next. Two things tell them
apart. What lies in the input before a request is sent is not its reply. And while a motor owes a reply of some length,
it is asked for more registers than needed, so that the length of a reply says which request it answers.
"""

from collections.abc import Collection, Mapping, Sequence

from svm_robot.drivers.bus.budget import Budget
from svm_robot.drivers.bus.counters import Counters
from svm_robot.drivers.bus.line import Line
from svm_robot.drivers.bus.packets import Codec, Damage, Status
from svm_robot.drivers.clock import Clock

OWED_S = 1.0
"""A reply that is missing for this long will not come any more."""
TAGS = 8
"""Lengths by which requests to one motor can be told apart."""
DOUBLINGS = 2
"""Where one motor is asked nobody is in a hurry: each of so many repeats is given twice the time of the one before."""
FLOOD = 65536
"""More bytes than this before a request are not worth sorting."""


class Exchange:
    """One line and the motors on it. Not thread-safe. Every call may raise ``LineGone``."""

    def __init__(self, line: Line, codec: Codec, clock: Clock, counters: Mapping[int, Counters], byte_s: float) -> None:
        """``counters``: motor id -> where its trouble is counted; id 0 for what no motor can be blamed for.

        ``byte_s``: how long one byte takes on the line.
        """
        self.line, self.codec, self.clock, self.counters, self.byte_s = line, codec, clock, counters, byte_s
        self.streaks: dict[int, int] = {}
        """Motor id -> how many group reads in a row it was missing from; motors that are fine are left out."""
        self._owed: dict[int, dict[int, float]] = {}
        """Motor id -> length of a missing reply's data -> when it is given up [s]."""

    def group_read(
        self, motor_ids: Sequence[int], address: int, length: int, budget: Budget, reply_s: float
    ) -> dict[int, Status]:
        """Replies by motor id, asked again within the budget; a motor that is missing at the end is left out."""
        budget.start(self.clock.now_s())
        found = self.ask_all(motor_ids, address, length, reply_s)
        while len(found) < len(motor_ids) and budget.take(now := self.clock.now_s()):
            missing = [motor_id for motor_id in motor_ids if motor_id not in found]
            self._count("retries", missing)
            found |= self.ask_all(missing, address, length, min(reply_s, budget.ends_s - now))
        return found

    def note_losses(self, motor_ids: Sequence[int], found: Collection[int]) -> None:
        """Keep the streaks: one group read has ended with good replies of these."""
        if self.streaks or len(found) < len(motor_ids):
            for motor_id in motor_ids:
                if motor_id in found:
                    self.streaks.pop(motor_id, None)
                else:
                    self.streaks[motor_id] = self.streaks.get(motor_id, 0) + 1

    def read(self, motor_id: int, address: int, length: int, tries: int, reply_s: float) -> Status | None:
        """One motor's registers; None when it does not answer."""
        for attempt in range(tries):
            if attempt:
                self._count("retries", (motor_id,))
                reply_s *= 2 if attempt <= DOUBLINGS else 1
            size = length + self._tag((motor_id,), length)
            request = self.codec.read(motor_id, address, size)
            if reply := self._converse(request, (motor_id,), size, reply_s).get(motor_id):
                return reply._replace(data=reply.data[:length])
        return None

    def write(self, motor_id: int, address: int, data: bytes, tries: int, reply_s: float) -> Status | None:
        """One motor's registers set and acknowledged; None when it does not answer (it may have obeyed all the same).

        An acknowledgement has no length to tell it by. One that is still owed is waited for behind a read: replies do
        not overtake each other.
        """
        return self.command(self.codec.write(motor_id, address, data), motor_id, tries, reply_s, fence=address)

    def command(self, request: bytes, motor_id: int, tries: int, reply_s: float, fence: int) -> Status | None:
        """A request that is only acknowledged. ``fence``: a register to read when an older one is still owed."""
        if 0 in self._owed.get(motor_id, ()):
            if self.read(motor_id, fence, 1, tries, reply_s) is None:
                return None
            self._owed[motor_id].pop(0, None)
        for attempt in range(tries):
            if attempt:
                self._count("retries", (motor_id,))
                reply_s *= 2 if attempt <= DOUBLINGS else 1
            if reply := self._converse(request, (motor_id,), 0, reply_s).get(motor_id):
                return reply
        return None

    def group_write(self, address: int, rows: Mapping[int, bytes]) -> None:
        """Set registers of several motors; nobody acknowledges."""
        self.line.write(self.codec.group_write(address, rows))

    def clear_input(self, patience_s: float = 0.0) -> None:
        """Drop and count what is there, or comes before it is quiet for ``patience_s``: it answers nothing."""
        data = self.line.read(patience_s)
        if not data:
            return
        buffer = bytearray(data)
        while len(buffer) < FLOOD and (data := self.line.read(patience_s)):
            buffer += data
        for event in self.codec.take(buffer, 255, last=True):
            if isinstance(event, Damage):
                self._count(event.kind, (event.motor_id or 0,))
            else:
                self._count("late" if self._was_owed(event) else "junk", (event.motor_id,))

    def ask_all(self, motor_ids: Sequence[int], address: int, length: int, patience_s: float) -> dict[int, Status]:
        """One group read. A motor that has been silent is asked last: others may wait for it to speak before them."""
        if self.streaks:
            motor_ids = sorted(motor_ids, key=lambda motor_id: self.streaks.get(motor_id, 0))
        size = length + self._tag(motor_ids, length)
        replies = self._converse(self.codec.group_read(motor_ids, address, size), motor_ids, size, patience_s)
        if size == length:
            return replies
        return {motor_id: reply._replace(data=reply.data[:length]) for motor_id, reply in replies.items()}

    def _tag(self, motor_ids: Sequence[int], length: int) -> int:
        """How many bytes more to ask for, so that no reply that is still owed has this length."""
        if not self._owed:
            return 0
        now, taken = self.clock.now_s(), set[int]()
        for motor_id in motor_ids:
            if owed := self._owed.get(motor_id):
                for size in [size for size, ends_s in owed.items() if ends_s < now]:
                    del owed[size]
                taken |= owed.keys()
                if not owed:
                    del self._owed[motor_id]
        return next((extra for extra in range(TAGS) if length + extra not in taken), TAGS)

    def _converse(self, request: bytes, motor_ids: Sequence[int], size: int, patience_s: float) -> dict[int, Status]:
        """Send, then collect the replies of ``size`` bytes of data that these motors give in time, in this order."""
        self.clear_input()
        line, take, now_s = self.line, self.codec.take, self.clock.now_s
        ends_s = now_s() + patience_s + self.byte_s * (len(request) + len(motor_ids) * (self.codec.overhead + size))
        line.write(request)
        waiting = dict.fromkeys(motor_ids)
        found: dict[int, Status] = {}
        blamed: set[int] = set()
        buffer = bytearray()
        longest = TAGS + max([size, *(owed for sizes in self._owed.values() for owed in sizes)])
        last = motor_ids[-1]
        try:
            while waiting and last not in found and last not in blamed:  # after the last one nobody will speak
                left_s = ends_s - now_s()
                data = line.read(left_s)
                if not data:
                    break
                buffer += data
                for event in take(buffer, longest):
                    self._sort(event, size, waiting, found, blamed)
                if left_s <= 0:  # what was there at the end is read; a line that babbles would go on for ever
                    break
            if buffer:
                for event in take(buffer, longest, True):
                    self._sort(event, size, waiting, found, blamed)
        finally:  # also after a Ctrl-C: what was asked for then may still come
            if waiting:
                self._miss(waiting, size, blamed)
        return found

    def _sort(
        self, event: Status | Damage, size: int, waiting: dict[int, None], found: dict[int, Status], blamed: set[int]
    ) -> None:
        motor_id = event.motor_id
        if isinstance(event, Damage):
            self._count(event.kind, (motor_id or 0,))
            blamed.add(motor_id or 0)
        elif motor_id in waiting and len(event.data) == size:
            found[event.motor_id] = event
            del waiting[event.motor_id]
        else:
            self._count("late" if self._was_owed(event) else "junk", (event.motor_id,))

    def _was_owed(self, reply: Status) -> bool:
        """An acknowledgement stays owed: of several that are missing, nobody can tell which one came."""
        owed = self._owed.get(reply.motor_id, {})
        return 0 in owed if not reply.data else owed.pop(len(reply.data), None) is not None

    def _miss(self, motor_ids: Mapping[int, None], size: int, blamed: set[int]) -> None:
        ends_s = self.clock.now_s() + OWED_S
        for motor_id in motor_ids:
            if motor_id not in blamed:  # otherwise its reply came, damaged
                self._count("lost", (motor_id,))
                self._owed.setdefault(motor_id, {})[size] = ends_s

    def _count(self, kind: str, motor_ids: Sequence[int]) -> None:
        for motor_id in motor_ids:
            counters = self.counters[motor_id if motor_id in self.counters else 0]
            setattr(counters, kind, getattr(counters, kind) + 1)
