"""What ``svm-robot record`` prints while it records: one line for each episode, and what was wrong with it."""

from shutil import get_terminal_size
from typing import TYPE_CHECKING

from svm_robot.scripts.cli import warn

if TYPE_CHECKING:
    from svm_robot.recording.recorder import EpisodeSummary
    from svm_robot.recording.session import Tally
    from svm_robot.reward.live import LiveScore


class Console:
    """One line for each episode. ``in_place``: each covers the one before, where no prompt stands between them."""

    def __init__(self, live: "LiveScore | None", in_place: bool) -> None:
        self.live, self.in_place = live, in_place
        self.tally: Tally | None = None
        """As of the last episode that was told; None before the first."""

    def __call__(self, episode: "EpisodeSummary", tally: "Tally") -> None:
        """Told after each episode."""
        self.tally = tally
        counts = " ".join(f"{name} {count}" for name, count in tally.outcomes.items())
        number = "spoiled," if tally.spoiled_in_a_row else f"{tally.episodes}/{tally.wanted}"
        text = f"episode {number} {episode.outcome:8} {words(episode)} | {counts}{scored(self.live)}"
        if self.in_place:
            more = tally.episodes < tally.wanted and not episode.notes and not tally.spoiled_in_a_row
            print(f"\r\x1b[K{text[: get_terminal_size().columns - 1]}", end="" if more else "\n", flush=True)
        else:
            print(text, flush=True)
        tell_notes(episode, spoiled=tally.spoiled_in_a_row > 0)

    def interrupted(self, episode: "EpisodeSummary | None") -> None:
        """Told when the session ended by Ctrl-C or an error."""
        if self.in_place:
            print()
        if episode is not None and episode.episode is not None and episode.outcome == "aborted":
            print(f"episode in progress saved as aborted: number {episode.episode}, {words(episode)}", flush=True)
        if self.tally is not None:
            print(f"before that, recorded {self.tally}", flush=True)


def tell_notes(episode: "EpisodeSummary", spoiled: bool) -> None:
    """What was wrong with an episode, one line each; a spoiled one is made again."""
    for note in episode.notes:
        warn(f"episode {episode.episode}: {note}")
    if spoiled:
        warn(f"episode {episode.episode} is labelled aborted and does not count: {episode.reason}")


def words(episode: "EpisodeSummary") -> str:
    """Steps, rates, age of frames, who acted, and saving time."""
    timing = episode.timing
    parts = [f"{episode.frames} steps at {timing.rate_hz:.1f} Hz (worst gap {timing.worst_gap_s:.2f} s)"]
    if timing.cameras:
        rates = ", ".join(f"{role} {camera.rate_hz:.1f}" for role, camera in timing.cameras.items())
        age, skew = 1e3 * timing.max_frame_age_s, 1e3 * timing.skew_s
        parts.append(f"frames up to {age:.0f} ms old, {skew:.0f} ms apart, new per second: {rates}")
    if episode.clip_rate:
        parts.append(f"{episode.clip_rate:.0%} of actions clipped")
    if episode.intervention_rate:
        parts.append(f"{episode.intervention_rate:.0%} by a human")
    if episode.waits.times:
        waits = episode.waits
        parts.append(
            f"waited {waits.times} times for pictures, {waits.total_s:.2f} s in all (longest {waits.longest_s:.2f} s)"
        )
    return ", ".join([*parts, f"saved in {episode.saving_s:.2f} s"])


def scored(live: "LiveScore | None") -> str:
    """What the live score says of the episode; empty without one."""
    if live is None or not live.times_ms:
        return ""
    p50, p95 = live.latency_ms()
    score = "none" if live.mean_probability is None else f"{live.mean_probability:.2f}"
    text = f" | live score {score}, {p50:.1f}/{p95:.1f} ms (p50/p95)"
    if live.flags:
        reasons = ", ".join(sorted({flag.reason for flag in live.flags}))
        text += f", {len(live.flags)} moments without a score ({reasons})"
    return text
