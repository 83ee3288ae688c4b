"""What an examination of a dataset finds, and the ledger it is written into while it runs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from svm_robot.errors import DataError

UNREADABLE = ("format", "version", "info")
"""Kinds of findings after which nothing else can be known."""

SHOWN = 5
"""Findings of one kind in one episode that are spelled out; the rest is counted."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    episode: int | None
    """Index of the episode; None when it concerns the dataset as a whole."""
    kind: str
    """What is concerned, one word: docs/commands.md lists them."""
    text: str

    def __str__(self) -> str:
        where = "dataset" if self.episode is None else f"episode {self.episode}"
        return f"{where}: {self.text}"


@dataclass(frozen=True)
class Report:
    """What is known of a dataset after an examination."""

    root: Path
    counted: int
    """Episodes that ``meta/info.json`` counts; 0 where it cannot be read."""
    rows: int
    """Rows of the counted episodes that the data files hold."""
    verified: tuple[int, ...]
    """Indices of the episodes that are whole: metadata, every row, every frame of every camera."""
    findings: tuple[Finding, ...]
    """What is wrong."""
    notes: tuple[Finding, ...]
    """What is odd but hurts no reader, such as what a recording that was cut off left behind."""
    leftovers: tuple[Path, ...]
    """Files and folders that no counted episode refers to."""

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.findings

    @property
    def broken(self) -> tuple[int, ...]:
        """Counted episodes that are not whole, as far as they are named."""
        named = {found.episode for found in self.findings if found.episode is not None}
        return tuple(sorted(named - set(self.verified)))

    @property
    def readable(self) -> bool:
        """False when the metadata tells too little to know what the dataset should hold."""
        return not any(found.kind in UNREADABLE for found in self.findings)

    @property
    def summary(self) -> str:
        """How many episodes are whole."""
        if not self.readable:
            return "not a dataset that can be read here"
        rows = f"{self.rows} rows"
        if not self.counted:
            return "no episodes" if self.ok else "no episodes, but something is wrong"
        if len(self.verified) < self.counted:
            return f"{len(self.verified)} of {self.counted} episodes are whole ({rows})"
        return f"{self.counted} episodes, {rows}: " + (
            "whole" if self.ok else "the episodes are whole, the rest is not"
        )

    @property
    def advice(self) -> str:
        """What to do next; empty when there is nothing to do."""
        if self.ok or not self.readable:
            return ""
        if any("Git LFS" in found.text for found in self.findings):
            return "fetch the files first, then check again"
        if self.counted and not self.verified:
            find = f"'svm-robot data repair {self.root} --dry_run' tells whether episodes can be found again"
            return f"no episode is whole: {find}; else fetch the files from where the dataset came from"
        return f"mend it with 'svm-robot data repair {self.root}' (--dry_run tells what that would do)"

    def of(self, episode: int | None) -> tuple[Finding, ...]:
        """What is wrong with one episode, or with the dataset as a whole."""
        return tuple(finding for finding in self.findings if finding.episode == episode)


class Ledger:
    """Collects findings. What any step finds goes here; no step stops the examination."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.leftovers: list[Path] = []
        self.broken: set[int] = set()
        """Episodes that are not whole."""
        self._count: dict[tuple[int | None, str], int] = {}

    def wrong(self, kind: str, text: str, *episodes: int) -> None:
        """Something is wrong with these episodes, or with the dataset as a whole."""
        self.broken.update(episodes)
        for episode in episodes or (None,):
            number = self._count[episode, kind] = self._count.get((episode, kind), 0) + 1
            if number <= SHOWN:
                self.findings.append(Finding(episode, kind, text))

    def note(self, kind: str, text: str, episode: int | None = None) -> None:
        """Something is odd but hurts no reader."""
        self.notes.append(Finding(episode, kind, text))

    def forget(self, *kinds: str) -> None:
        """Take back what was said of these kinds, leftovers included: it no longer holds."""
        self.findings = [found for found in self.findings if found.kind not in kinds]
        self.notes = [found for found in self.notes if found.kind not in kinds]
        self._count = {(episode, kind): number for (episode, kind), number in self._count.items() if kind not in kinds}
        self.leftovers = []

    @contextmanager
    def guard(self, kind: str, what: str, *episodes: int) -> Iterator[None]:
        """Whatever goes wrong inside becomes a finding: a damaged file makes libraries raise anything."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  (an examination must survive every damage)
            known = isinstance(error, DataError)  # names the file itself
            self.wrong(kind, reason(error) if known else f"{what}: {reason(error)}", *episodes)

    def all_findings(self) -> tuple[Finding, ...]:
        """What is wrong: the dataset first, then episode by episode; what was not spelled out is counted."""
        more = [
            Finding(episode, kind, f"and {number - SHOWN} more of the same kind ({kind})")
            for (episode, kind), number in self._count.items()
            if number > SHOWN
        ]
        return tuple(sorted(self.findings + more, key=lambda f: -1 if f.episode is None else f.episode))


def reason(error: BaseException) -> str:
    """An error in at most one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."


def told(findings: Iterable[Finding]) -> list[str]:
    """Findings in words, one line for each text with all episodes that it concerns."""
    by_text: dict[str, list[int | None]] = {}
    for found in findings:
        by_text.setdefault(found.text, []).append(found.episode)
    return [f"{whom(episodes)}: {text}" for text, episodes in by_text.items()]


def whom(episodes: Iterable[int | None]) -> str:
    """Episodes in words; ``dataset`` for none."""
    numbers = sorted({number for number in episodes if number is not None})
    if not numbers:
        return "dataset"
    if len(numbers) == 1:
        return f"episode {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"episodes {numbers[0]} to {numbers[-1]}"
    return f"episodes {', '.join(map(str, numbers[:10]))}" + (f" and {len(numbers) - 10} more" * (len(numbers) > 10))
