"""A review of the labels, episode by episode: what each key does, and what is said about it. Draws nothing itself."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from svm_robot.curation.labels.letters import LETTERS, VERDICTS, split_tags
from svm_robot.curation.review.player import Player
from svm_robot.data.label_view import UNLABELLED, EpisodeLabel
from svm_robot.data.labels import Label, LabelLog, stacks
from svm_robot.errors import DataError
from svm_robot.rollout.episode import Outcome

HELD_S = 0.6
"""A verdict so soon after the one before is a key held down, not a person who looked at the next episode."""
TODO = (UNLABELLED, str(Outcome.UNSURE))
"""What is looked at first where that is wished for, in this order."""


@dataclass(frozen=True)
class Standing:
    """What is said of one episode now."""

    label: Label | None
    outcome: Outcome | None
    history: int


def todo_first(episodes: Sequence[EpisodeLabel]) -> list[EpisodeLabel]:
    """Unlabelled episodes, then unsure ones, then the others."""
    return sorted(episodes, key=lambda episode: TODO.index(episode.kind) if episode.kind in TODO else len(TODO))


class Review:
    """Goes through ``queue``, which is not empty. Every label is in the log before the next picture is shown."""

    def __init__(self, log: LabelLog, queue: Sequence[EpisodeLabel], rate_hz: float, by: str, now_s: float) -> None:
        self.log, self.queue, self.rate_hz, self.by = log, queue, rate_hz, by
        self.position, self.finished = 0, False
        self.message = ""
        self.alone = 0
        """How often another choice of cameras was asked for: all of them, then each one alone, and again."""
        self.typed: str | None = None
        """The tags as far as they are typed; None when nobody types."""
        self.given: list[tuple[int, Label]] = []
        """Positions and labels that this review gave and has not taken back, oldest first."""
        self._tags: dict[int, tuple[str, ...]] = {}
        self._verdict_s = -HELD_S
        self.go_to(0, now_s)

    @property
    def episode(self) -> EpisodeLabel:
        """The one on the screen."""
        return self.queue[self.position]

    @property
    def said(self) -> dict[int, Outcome]:
        """Position -> what this review says of it."""
        return {position: label.outcome for position, label in self.given}

    @property
    def progress(self) -> str:
        """For example ``12 of 40 reviewed, 8 s 3 f 1 u``."""
        said = Counter(self.said.values())
        counts = " ".join(f"{said[outcome]} {letter}" for outcome, letter in LETTERS.items() if said[outcome])
        return f"{said.total()} of {len(self.queue)} reviewed" + (f", {counts}" if counts else "")

    def go_to(self, position: int, now_s: float) -> None:
        """Show another episode, from its first frame."""
        self.position, self.typed = position, None
        self.player = Player(self.episode.length, self.rate_hz, now_s)
        self.standing = self._look()

    def press(self, key: str, now_s: float) -> None:
        """Do what a key means; ``key`` as ``KeyReader.keys`` names it."""
        if self.typed is not None:
            self._type(key)
            return
        key = key.lower()
        if key in VERDICTS:
            self._label(VERDICTS[key], now_s)
        elif key in ("n", "p"):
            self._move(1 if key == "n" else -1, now_s)
        elif key == "z":
            self._undo(now_s)
        elif key == "t":
            tags = self._tags.get(self.position) or (self.standing.label.tags if self.standing.label else ())
            self.typed = "".join(f"{tag}, " for tag in tags)
        elif key == "q":
            self.finished = True
        elif key == "c":
            self.alone += 1
        else:
            self._play(key, now_s)

    def _play(self, key: str, now_s: float) -> None:
        match key:
            case " ":
                self.player.toggle(now_s)
            case "left" | "right":
                self.player.step(1 if key == "right" else -1, now_s)
            case "+" | "=" | "-" | "_":
                self.player.faster(1 if key in "+=" else -1, now_s)

    def _label(self, outcome: Outcome, now_s: float) -> None:
        too_soon, self._verdict_s = now_s - self._verdict_s < HELD_S, now_s
        if too_soon:
            self.message = "a key held down labels nothing: look, then press it once"
            return
        standing, position = self._look(), self.position
        before = standing.outcome or UNLABELLED
        kept = standing.label.tags if standing.label else ()
        label = self.log.append(self.episode.uid, outcome, self.by, tags=self._tags.pop(position, kept))
        self.given.append((position, label))
        self.message = f"episode {self.episode.index}: {before} -> {outcome} (z takes it back)"
        if position + 1 < len(self.queue):
            self.go_to(position + 1, now_s)
        else:
            self.standing = self._look()
            self.message += "; that was the last one, q ends"

    def _undo(self, now_s: float) -> None:
        """Take the last label of this review back, and show its episode; what was said of it since then stays."""
        if not self.given:
            self.message = "nothing was labelled in this review; older labels: svm-robot label DATASET undo --episode=N"
            return
        position, label = self.given.pop()
        try:
            self.log.undo(self.queue[position].uid, self.by, only=label)
            told = f"{label.outcome} taken back"
        except DataError as error:
            told = str(error)
        self.go_to(position, now_s)
        self.message = f"episode {self.episode.index}: {told}"

    def _move(self, by: int, now_s: float) -> None:
        there = self.position + by
        if 0 <= there < len(self.queue):
            self.message = ""
            self.go_to(there, now_s)
        else:
            self.message = "this is the last one; q ends" if by > 0 else "this is the first one"

    def _type(self, key: str) -> None:
        """Tags are a line of text; playing goes on."""
        assert self.typed is not None
        match key:
            case "enter":
                self._tag(split_tags(self.typed))
                self.typed = None
            case "escape":
                self.typed = None
            case "backspace":
                self.typed = self.typed[:-1]
            case _ if len(key) == 1:
                self.typed += key

    def _tag(self, tags: tuple[str, ...]) -> None:
        """Tags of a labelled episode are said at once, those of an unlabelled one with its label."""
        self.standing = self._look()
        outcome, shown = self.standing.outcome, ", ".join(tags) or "none"
        if outcome is None:
            self._tags[self.position] = tags
            self.message = f"tags: {shown}; they are kept with the label you give"
            return
        reason = self.standing.label.reason if self.standing.label else None
        self.given.append((self.position, self.log.append(self.episode.uid, outcome, self.by, reason, tags)))
        self.standing = self._look()
        self.message = f"episode {self.episode.index}: tags: {shown} (z takes it back)"

    def _look(self) -> Standing:
        """Read again each time: somebody else may label the same dataset."""
        entries = self.log.history(self.episode.uid)
        labels = stacks(entries).get(self.episode.uid)
        label = labels[-1] if labels else None
        return Standing(label, label.outcome if label else self.episode.recorded, len(entries))
