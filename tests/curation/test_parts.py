"""Who goes where: shares that people type, and a draw that is fair and always the same."""

import pytest

from svm_robot.curation.rebuild.parts import allot, parse_lists, parse_shares
from svm_robot.errors import ConfigError, DataError

SHARES = {"train": 0.8, "val": 0.2}


def test_shares_as_people_type_them() -> None:
    assert parse_shares("train:0.8,val:0.2") == SHARES
    assert parse_shares(" a:.5 , b-2:.25, c.x:0.25") == {"a": 0.5, "b-2": 0.25, "c.x": 0.25}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("train", "write NAME:SHARE"),
        ("train:lots,val:0.2", "'train:lots' is no part"),
        ("train:0.8", r"add up to 0.8, not to 1; add rest:0.2"),
        ("train:0.8,val:0.8", "add up to 1.6, not to 1$"),
        ("train:1", "between 0 and 1"),
        ("train:nan,val:0.5", "between 0 and 1"),
        ("train:-0.5,val:0.5", "between 0 and 1"),
        ("../up:0.5,val:0.5", "no name for a part"),
        (".hidden:0.5,val:0.5", "no name for a part"),
        (":0.5,val:0.5", "no name for a part"),
        ("a:0.5,a:0.5", "'a' is named twice"),
    ],
)
def test_shares_that_make_no_sense_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        parse_shares(text)


def test_lists_as_people_type_them() -> None:
    assert parse_lists("train:0-2,5,val:3,4") == {"train": (0, 1, 2, 5), "val": (3, 4)}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0-3", "names no part"),
        ("a:1,a:2", "named twice"),
        ("a:", "names no episodes"),
        ("a:x", "names no episodes"),
        ("a/b:1", "no name"),
    ],
)
def test_lists_that_make_no_sense_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        parse_lists(text)


def test_every_part_gets_its_share_of_every_kind() -> None:
    strata = ["success"] * 30 + ["failure"] * 10 + ["unsure"] * 10
    parts = allot(SHARES, strata, seed=3)
    assert sorted([*parts["train"], *parts["val"]]) == list(range(50))
    counts = {name: sum(strata[number] == name for number in parts["val"]) for name in set(strata)}
    assert counts == {"success": 6, "failure": 2, "unsure": 2}


def test_the_same_seed_draws_the_same_and_another_one_something_else() -> None:
    strata = ["success", "failure"] * 20
    draws = [allot(SHARES, strata, seed) for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("episodes", range(2, 40))
def test_no_part_is_off_by_a_whole_episode(episodes: int) -> None:
    shares = {"a": 0.5, "b": 0.5}
    parts = allot(shares, [number % 3 for number in range(episodes)], seed=0)
    assert all(abs(len(parts[name]) - share * episodes) < 1 for name, share in shares.items())


def test_a_part_that_would_be_empty_is_named() -> None:
    with pytest.raises(DataError, match="3 episodes are too few: the part 'val' would be empty"):
        allot({"train": 0.9, "val": 0.1}, ["success"] * 3, seed=0)
