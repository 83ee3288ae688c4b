"""``svm-robot teleop RIG``: move the robot by hand, record nothing, see how well everything keeps up."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Literal

from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError

if TYPE_CHECKING:
    from svm_robot.drivers.teleop.hand import Hand
    from svm_robot.rollout import Env

USAGE = "svm-robot teleop RIG [--by=auto|leader|keyboard] [--seconds=0]"
LINE_EVERY_S, PLAIN_EVERY_S = 0.25, 1.0


@dataclass(kw_only=True)
class TeleopConfig(RigConfig):
    """Options of driving by hand, beside those of the rig. Nothing is recorded."""

    by: Literal["auto", "leader", "keyboard"] = "auto"  # auto: the rig's teleoperator if it has one, else the keys
    seconds: float = 0.0  # stop after so long [s]; 0: when q or Ctrl-C is pressed

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.seconds < float("inf"):
            raise ConfigError(f"seconds is {self.seconds}; it must be 0 or more")


def main(args: list[str]) -> int:
    """Drive until ``q``, Ctrl-C or the time is over; all three are a good end."""
    from svm_robot.drivers.teleop.jog import HELP
    from svm_robot.scripts.cell import open_cell
    from svm_robot.scripts.cli import parse, split_positionals, warn
    from svm_robot.scripts.hands import hand_of

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(TeleopConfig, options, rig=words[0], usage=USAGE)
    by_keys = config.by == "keyboard" or (config.by == "auto" and config.teleop is None)
    keys = Keys(needed=by_keys)
    with ExitStack() as stack:
        stack.enter_context(keys)
        cell = stack.enter_context(open_cell(replace(config, start_pose=None)))
        hand = hand_of(config.by, config, cell)
        warn(f"q stops; {HELP}" if by_keys else "q or Ctrl-C stops")
        with cell.ending.motors_first():
            try:
                drive(cell.env, hand, keys, config.seconds)
            except KeyboardInterrupt:
                print()
    return 0


def drive(env: "Env", hand: "Hand", keys: "Keys", seconds: float) -> None:
    """The loop: see, ask the hand, send, tell."""
    env.reset()
    hand.reset()
    line = LiveLine(env, hand)
    begun_s: float | None = None
    try:
        while True:
            seen = env.observe(frames=True)
            begun_s = seen.state_time_s if begun_s is None else begun_s
            for key in (pressed := keys.pressed()):
                hand.press(key)
            if "q" in pressed or (seconds and seen.state_time_s - begun_s >= seconds):
                break
            line.tell(seen, env.apply(hand.act(seen)[0]))
    except BaseException as error:
        env.rest(error)
        raise
    env.rest()
    line.end()


class Keys:
    """Single keys of the terminal, where there is one. ``needed``: nothing can be done without."""

    def __init__(self, needed: bool) -> None:
        from svm_robot.drivers.terminal.single_keys import SingleKeys
        from svm_robot.scripts.hands import INSTEAD

        self.needed = needed
        self._single = SingleKeys(sys.stdin, f"{INSTEAD}, or use --by=leader")

    def __enter__(self) -> "Keys":
        if self.needed or (sys.stdin is not None and sys.stdin.isatty()):
            self._single.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._single.close()

    def pressed(self) -> list[str]:
        """Every key since the last call."""
        return self._single.pressed() if self._single.is_open else []


class LiveLine:
    """Rate, joints, ages of pictures, and what went wrong on the bus: in place on a terminal, else once a second."""

    def __init__(self, env: "Env", hand: "Hand") -> None:
        self.env, self.hand = env, hand
        self.in_place = sys.stdout.isatty()
        self._ticks, self._since_s = 0, float("-inf")
        self._clipped = False

    def tell(self, seen: Any, applied: Any) -> None:
        """After each step; prints when it is time."""
        self._ticks += 1
        self._clipped |= applied.clipped
        passed_s = seen.state_time_s - self._since_s
        if passed_s < (LINE_EVERY_S if self.in_place else PLAIN_EVERY_S):
            return
        rate = 0.0 if passed_s == float("inf") else self._ticks / passed_s
        text = self.text(seen, rate)
        self._ticks, self._since_s, self._clipped = 0, seen.state_time_s, False
        if self.in_place:
            print(f"\r\x1b[K{text[: get_terminal_size().columns - 1]}", end="", flush=True)
        else:
            print(text, flush=True)

    def text(self, seen: Any, rate: float) -> str:
        """The line itself."""
        chosen = getattr(self.hand, "joint", "")
        joints = [
            f"{'>' if joint == chosen else ''}{joint.removesuffix('.pos')} {value:.1f}"
            for joint, value in zip(self.env.spec.joints, seen.state, strict=True)
        ]
        ages = [f"{role} {1e3 * (seen.state_time_s - taken_s):.0f} ms" for role, taken_s in seen.frame_times_s.items()]
        distance = getattr(self.hand, "distance", 0.0)
        parts = [f"{rate:4.1f} Hz", "  ".join(joints), *ages]
        parts += [f"leader {distance:.0f} apart"] if distance > 1 else []
        parts += ["limited"] if self._clipped else []
        return " | ".join([*parts, *self.troubles()])

    def troubles(self) -> list[str]:
        """Error counters of the motor buses, for robots that have ours."""
        from svm_robot.drivers.bus.attach import bus_troubles

        robot = getattr(self.env, "robot", None)
        return [] if robot is None else bus_troubles(robot)

    def end(self) -> None:
        """Leave the last line standing."""
        if self.in_place:
            print()
