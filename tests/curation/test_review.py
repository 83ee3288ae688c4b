"""A review without a terminal: what keys do, which frame is due, what is drawn. The clock is in the test's hand."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from recordings import labels_restored, record_toy
from toys import ToySpec

from svm_robot.curation.labels.letters import split_tags
from svm_robot.curation.review.board import LEAST, arrange, plain, seen
from svm_robot.curation.review.film import Film, VideoFilm, open_films
from svm_robot.curation.review.player import REST_S, SPEEDS, Player
from svm_robot.curation.review.review import HELD_S, Review, todo_first
from svm_robot.curation.review.watch import BYTES_PER_S, DRAW_S, watch
from svm_robot.data import load_dataset
from svm_robot.data.label_view import EpisodeLabel, LabelView, read_view
from svm_robot.data.labels import LabelLog
from svm_robot.data.layout import read_layout
from svm_robot.errors import DataError, DeviceError
from svm_robot.recording.encoder import Encoding, Pictures
from svm_robot.rollout import Outcome

RATE = 10.0
LONG = 12


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("review") / "d"
    record_toy(root, "ffff", ToySpec(cameras={"front": (32, 48), "wrist": (32, 32)}), max_steps=LONG)
    return root


@pytest.fixture
def root(recorded: Path) -> Iterator[Path]:
    yield from labels_restored(recorded)


class Person:
    """A review and the one who presses its keys."""

    def __init__(self, root: Path) -> None:
        self.log, self.now = LabelLog(root), 100.0
        self.review = Review(self.log, read_view(root).episodes, RATE, "ada", self.now)
        self.root = root

    def press(self, *keys: str, wait_s: float = 1.0) -> None:
        for key in keys:
            self.now += wait_s
            self.review.press(key, self.now)

    def type(self, text: str, *last: str) -> None:
        self.press(*text, *last, wait_s=0.01)

    @property
    def view(self) -> LabelView:
        return read_view(self.root)


@pytest.fixture
def person(root: Path) -> Person:
    return Person(root)


def test_verdicts_are_in_the_log_at_once_and_the_next_episode_comes(person: Person) -> None:
    person.press("s", "F", "u")
    assert [episode.kind for episode in person.view.episodes] == ["success", "failure", "unsure", "failure"]
    assert person.review.position == 3
    assert person.review.progress == "3 of 4 reviewed, 1 s 1 f 1 u"
    person.press("a")
    assert (person.review.position, person.view.episode(3).kind) == (3, "aborted")
    assert "that was the last one" in person.review.message
    label = person.view.episode(0).label
    assert label is not None and label.by == "ada"


def test_a_key_held_down_labels_one_episode(person: Person) -> None:
    person.press("s")
    person.press(*["s"] * 40, wait_s=0.03)
    assert person.review.position == 1
    assert "held down" in person.review.message
    person.press("s", wait_s=2 * HELD_S)
    assert person.review.position == 2


def test_undo_takes_back_what_this_review_said_one_by_one(person: Person) -> None:
    before = len(person.log.entries())
    person.press("z")
    assert "nothing was labelled in this review" in person.review.message
    person.press("s", "s", "p", "u")
    assert person.review.progress == "2 of 4 reviewed, 1 s 1 u"
    person.press("z")
    assert (person.review.position, person.view.episode(1).kind) == (1, "success")
    assert person.review.progress == "2 of 4 reviewed, 2 s"
    person.press("z", "z", "z")
    assert (person.review.position, person.review.progress) == (0, "0 of 4 reviewed")
    assert [episode.kind for episode in person.view.episodes] == ["failure"] * 4
    assert len(person.log.entries()) == before + 6, "everything stays in the history"


def test_undo_leaves_what_somebody_else_said_meanwhile(person: Person) -> None:
    first, second = (episode.uid for episode in person.view.episodes[:2])
    person.press("s", "s")
    LabelLog(person.root).append(second, Outcome.UNSURE, "bob")
    person.press("z")
    assert (person.review.position, person.view.episode(1).kind) == (1, "unsure")
    assert "what counts now is unsure by bob, not success by ada; nothing taken back" in person.review.message
    assert person.review.progress == "1 of 4 reviewed, 1 s"
    LabelLog(person.root).undo(first, "bob")
    person.press("z")
    assert (person.review.position, person.view.episode(0).kind) == (0, "failure"), "the judge's label is not ours"
    assert "nothing taken back" in person.review.message
    assert person.review.progress == "0 of 4 reviewed"


def test_tags_go_with_what_counts_when_they_are_said(person: Person) -> None:
    uid = person.review.episode.uid
    LabelLog(person.root).append(uid, Outcome.ABORTED, "bob", "hand in view")
    person.press("t")
    person.type("dark", "enter")
    label = person.view.episode(0).label
    assert label is not None and (label.outcome, label.reason, label.tags) == ("aborted", "hand in view", ("dark",))
    person.press("n", "p")
    LabelLog(person.root).append(uid, Outcome.UNSURE, "bob", tags=["late"])
    person.press("s")
    assert person.log.current()[uid].tags == ("late",) and "unsure -> success" in person.review.message


def test_tags_of_a_labelled_episode_are_said_at_once(person: Person) -> None:
    person.press("t")
    person.type("slip, Spät,slip", "backspace", "backspace", "backspace", "backspace", "backspace", "enter")
    label = person.view.episode(0).label
    assert label is not None
    assert (label.tags, label.outcome, label.reason) == (("slip", "Spät"), "failure", "time limit")
    person.press("s")
    assert person.log.current()[person.view.episode(0).uid].tags == ("slip", "Spät"), "a new verdict keeps the tags"
    person.press("p", "t")
    assert person.review.typed == "slip, Spät, "
    person.press("escape", "t", *["backspace"] * 20, "enter")
    assert person.log.current()[person.view.episode(0).uid].tags == ()


def test_letters_typed_into_tags_label_nothing(person: Person) -> None:
    before = person.log.entries()
    person.press("t")
    person.type("sfuaznpq", "left", "escape")
    assert (person.log.entries(), person.review.finished, person.review.typed) == (before, False, None)


def test_tags_of_an_unlabelled_episode_wait_for_its_label(root: Path) -> None:
    uid = read_view(root).episode(0).uid
    LabelLog(root).undo(uid, "ada")
    person = Person(root)
    person.press("t")
    person.type("late", "enter")
    assert person.view.episode(0).label is None
    person.press("u")
    label = person.view.episode(0).label
    assert label is not None and (label.outcome, label.tags) == ("unsure", ("late",))


def test_what_somebody_else_says_meanwhile_is_shown(person: Person) -> None:
    person.press("n")
    person.log.append(person.view.episode(0).uid, Outcome.UNSURE, "bob")
    person.press("p")
    assert person.review.standing.outcome is Outcome.UNSURE
    assert person.review.standing.history == 2


def test_the_ends_of_the_queue(person: Person) -> None:
    person.press("p")
    assert (person.review.position, "first" in person.review.message) == (0, True)
    person.press("n", "n", "n", "n")
    assert (person.review.position, "last" in person.review.message) == (3, True)
    person.press("q")
    assert person.review.finished


def test_what_is_to_do_comes_first() -> None:
    kinds = (Outcome.SUCCESS, Outcome.UNSURE, None, Outcome.FAILURE, None)
    episodes = [EpisodeLabel(index, index, 5, kind, None, None, 0) for index, kind in enumerate(kinds)]
    assert [episode.index for episode in todo_first(episodes)] == [2, 4, 1, 0, 3]


def test_tags_are_words() -> None:
    assert split_tags(" slip; zu spät ,, slip") == ("slip", "zu spät")
    assert split_tags(" ,") == ()


def test_the_film_keeps_its_rate_and_rests_on_its_last_frame() -> None:
    player = Player(20, RATE, 0.0)
    assert [player.frame(at) for at in (0.0, 0.05, 0.11, 1.01, 1.95, 2.01, 1.99 + REST_S)] == [
        0,
        0,
        1,
        10,
        19,
        19,
        19,
    ]
    assert player.frame(2.0 + REST_S + 0.15) == 1
    player.toggle(3.0)
    stopped = player.frame(3.0)
    assert player.frame(9.0) == stopped
    player.toggle(9.0)
    assert player.frame(9.1) == stopped + 1


def test_single_steps_and_speeds() -> None:
    player = Player(20, RATE, 0.0)
    player.step(-1, 0.0)
    assert (player.frame(5.0), player.playing) == (0, False)
    for _ in range(25):
        player.step(1, 6.0)
    assert player.frame(6.0) == 19
    player.step(-1, 6.0)
    assert player.frame(7.0) == 18
    for _ in range(20):
        player.faster(1, 7.0)
    assert player.speed == SPEEDS[-1]
    slow = Player(20, RATE, 0.0)
    slow.faster(-1, 0.0)
    assert slow.frame(1.0) == 5


def test_a_film_gives_the_frame_that_is_asked_for(root: Path) -> None:
    episodes, layout = load_dataset(root).episodes, read_layout(root)
    order = [0, 1, 5, 4, 11, 0, 3, 3, 10]
    for row, episode in zip(layout.episodes, episodes, strict=True):
        for role, film in open_films(layout, row).items():
            for index in order:
                expected = episode.frames[role][index].astype(int)
                found = film.picture(index, *expected.shape[:2]).astype(int)
                assert np.abs(found - expected).max() <= 2, (episode.index, role, index)
            assert film.picture(0, 16, 24).shape == (16, 24, 3)
            with pytest.raises(DataError, match="no frame 99"):
                film.picture(99, 16, 16)
            assert film.picture(2, 16, 16).shape == (16, 16, 3), "a wrong frame ends nothing"
            film.close()
            film.close()


@pytest.mark.parametrize("pictures", ["png", "jpeg"])
def test_single_pictures_are_a_film_too(tmp_path: Path, pictures: Pictures) -> None:
    root = tmp_path / "d"
    record_toy(root, "ff", max_steps=4, encoding=Encoding(pictures=pictures))
    layout = read_layout(root)
    for row, episode in zip(layout.episodes, load_dataset(root).episodes, strict=True):
        for role, film in open_films(layout, row).items():
            for index in (0, 3, 1):
                assert np.array_equal(film.picture(index, 32, 32), episode.frames[role][index])
            assert film.picture(0, 8, 12).shape == (8, 12, 3)
            with pytest.raises(DataError, match="no frame 4"):
                film.picture(4, 8, 8)
            film.close()
    layout.data_file(layout.episodes[0]).write_bytes(b"no table")
    with pytest.raises(DataError, match="cannot be read"):
        open_films(layout, layout.episodes[0])["front"].picture(0, 8, 8)


def test_a_film_that_is_gone_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.mp4 is missing"):
        VideoFilm(tmp_path / "a.mp4", 0, RATE).picture(0, 4, 4)
    (tmp_path / "a.mp4").write_bytes(b"no film" * 100)
    with pytest.raises(DataError, match=r"a\.mp4 cannot be decoded"):
        VideoFilm(tmp_path / "a.mp4", 0, RATE).picture(0, 4, 4)


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 50), LEAST])
@pytest.mark.parametrize(
    "cameras", [{"a": (480, 640)}, {"a": (480, 640), "b": (64, 64)}, dict.fromkeys("abcd", (720, 1280))]
)
def test_pictures_fit_and_keep_their_shape(size: tuple[int, int], cameras: dict[str, tuple[int, int]]) -> None:
    panels = arrange(*size, cameras)
    assert [panel.role for panel in panels] == list(cameras)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        height, width = cameras[panel.role]
        cells = {(panel.line + y, panel.column + x) for y in range(panel.height // 2) for x in range(panel.width)}
        assert panel.height % 2 == 0 and cells and not cells & taken
        taken |= cells
        assert all(2 <= line < size[1] - 3 and 0 <= column < size[0] for line, column in cells)
        if panel.height > 20:
            assert panel.width / panel.height == pytest.approx(width / height, rel=0.1)
    if size == (200, 60):
        assert len({panel.line for panel in panels}) == (2 if len(cameras) == 4 else 1)


def test_one_camera_alone_is_larger() -> None:
    cameras = {"a": (48, 64), "b": (48, 64)}
    assert [list(seen(cameras, choice)) for choice in range(4)] == [["a", "b"], ["a"], ["b"], ["a", "b"]]
    assert list(seen({"a": (48, 64)}, 1)) == ["a"]
    assert arrange(80, 24, seen(cameras, 1))[0].width > arrange(80, 24, cameras)[0].width


def test_a_task_or_a_reason_cannot_steer_the_terminal() -> None:
    assert plain("put\x1b[2J it \x07there\n\u202eü") == "put?[2J it ?there??ü"


class FakeDisplay:
    """A terminal that a script sits at: each entry is (when, keys)."""

    truecolor = True

    def __init__(self, script: list[tuple[float, list[str]]]) -> None:
        self.script, self.now = script, 0.0
        self.drawn: list[tuple[float, bytes]] = []
        self.window = (80, 24)

    def size(self) -> tuple[int, int]:
        return self.window

    def write(self, data: bytes) -> None:
        self.drawn.append((self.now, data))

    def pressed(self, timeout_s: float) -> list[str]:
        due_s, keys = self.script[0] if self.script else (0.0, ["q"])
        if due_s > self.now + timeout_s:
            self.now += timeout_s + 1e-6
            return []
        self.now = max(self.now, due_s)
        self.script = self.script[1:]
        return keys


class FakeFilms:
    """Films that count who has them open."""

    def __init__(self) -> None:
        self.open = 0
        self.shown: list[tuple[int, int]] = []

    def of(self, episode: EpisodeLabel) -> Mapping[str, Film]:
        self.open += 1
        return {"front": FakeFilm(self, episode)}


class FakeFilm:
    def __init__(self, films: FakeFilms, episode: EpisodeLabel) -> None:
        self.films, self.episode = films, episode

    def picture(self, index: int, height: int, width: int) -> np.ndarray:
        self.films.shown.append((self.episode.index, index))
        if self.episode.index == 1:
            raise DataError("the file is gone")
        return np.full((height, width, 3), 20 * index, np.uint8)

    def close(self) -> None:
        self.films.open -= 1


def watched(root: Path, script: list[tuple[float, list[str]]], display: FakeDisplay | None = None):
    display, films = display or FakeDisplay(script), FakeFilms()
    review = Review(LabelLog(root), read_view(root).episodes, RATE, "ada", 0.0)
    watch(review, display, films.of, {"front": (48, 64)}, lambda episode: "reach", lambda: display.now)
    return display, films, review


def words(data: bytes) -> str:
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", data.decode())


def test_every_frame_is_shown_when_it_is_due(root: Path) -> None:
    display, films, _ = watched(root, [(1.15, ["q"])])
    assert [frame for _, frame in films.shown] == list(range(LONG))
    assert films.open == 0
    said = words(display.drawn[0][1])
    for part in ("episode 0 (1 of 4)", "failure", "by judge", "reach", "0 of 4 reviewed", "frame 1/12", "s success"):
        assert part in said


def test_a_slow_line_gets_fewer_frames_and_the_film_keeps_its_rate(root: Path) -> None:
    class Slow(FakeDisplay):
        def write(self, data: bytes) -> None:
            super().write(data)
            self.now += 0.35

    _, films, _ = watched(root, [], Slow([(1.0, ["q"])]))
    frames = [frame for _, frame in films.shown]
    assert frames[:3] == [0, 3, 7] or frames[:3] == [0, 4, 8]


def test_no_more_is_sent_than_a_line_carries(root: Path) -> None:
    display, _, _ = watched(root, [(1.0, ["q"])])
    for (began_s, data), (next_s, _) in zip(display.drawn, display.drawn[1:], strict=False):
        assert next_s - began_s >= max(DRAW_S, len(data) / BYTES_PER_S) - 1e-9


def test_one_film_is_open_at_a_time_and_a_missing_one_ends_nothing(root: Path) -> None:
    display, films, review = watched(root, [(0.3, ["s"]), (0.6, ["n"]), (0.9, [" "]), (1.2, ["right"]), (1.5, ["q"])])
    assert films.open == 0
    assert any("front: the file is gone" in words(data) for _, data in display.drawn)
    assert review.position == 2
    said = "".join(words(data) for _, data in display.drawn)
    assert "episode 0: failure -> success (z takes it back)" in said
    assert "paused" in said and "1 of 4 reviewed, 1 s" in said


def test_a_window_that_changes_its_size_is_drawn_anew(root: Path) -> None:
    class Pulled(FakeDisplay):
        def pressed(self, timeout_s: float) -> list[str]:
            self.window = (60, 20) if self.now > 0.5 else (20, 5) if self.now > 0.2 else (80, 24)
            return super().pressed(timeout_s)

    display, _, _ = watched(root, [], Pulled([(1.0, ["q"])]))
    cleared = [data for _, data in display.drawn if b"\x1b[2J" in data]
    assert len(cleared) == 3
    assert "make this window larger (24x10" in words(cleared[1])
    assert "episode 0" in words(cleared[2])


def test_a_lost_terminal_closes_the_films(root: Path) -> None:
    class Lost(FakeDisplay):
        def write(self, data: bytes) -> None:
            raise DeviceError("the terminal is gone")

    films = FakeFilms()
    review = Review(LabelLog(root), read_view(root).episodes, RATE, "ada", 0.0)
    with pytest.raises(DeviceError):
        watch(review, Lost([]), films.of, {"front": (48, 64)}, lambda episode: "reach", lambda: 0.0)
    assert films.open == 0
