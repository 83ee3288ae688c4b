"""Options and rig files as clumsy people write them: each mistake is one line that names what to change."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import draccus
import pytest

from svm_robot.errors import ConfigError
from svm_robot.scripts.cli import parse, split_positionals
from svm_robot.scripts.comments import comment_of
from svm_robot.scripts.help_text import help_text
from svm_robot.scripts.options import options_of

USAGE = "svm-robot record RIG [--option=value]"


class Robot(draccus.ChoiceRegistry):  # type: ignore[misc]
    pass


@Robot.register_subclass("arm")
@dataclass
class Arm(Robot):
    port: str = "/dev/ttyACM0"  # serial port


@dataclass
class Limits:
    # greatest speed
    # of a joint
    max_speed: float = 3.0
    joints: list[str] = field(default_factory=list)
    """Which joints."""


@dataclass(kw_only=True)
class Rig:
    """A robot cell."""

    robot: Robot
    rate_hz: float = 10.0  # steps per second
    seed: int | None = None  # no seed: random
    limits: Limits = field(default_factory=Limits)  # below every action
    tools: dict[str, Robot] = field(default_factory=dict)  # what it holds


@dataclass(kw_only=True)
class Record(Rig):
    """Record episodes."""

    episodes: int  # how many
    judge: bool = False  # the simulator decides
    control: Literal["script", "teleop"] = "script"  # who acts
    out: Path | None = None


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    path = tmp_path / "rig.yaml"
    path.write_text("robot:\n  type: arm\nrate_hz: 30\n")
    return path


def refused(options: list[str], rig: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(Record, options, str(rig) if rig else None, USAGE)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_rig_file_and_overrides_meet(rig: Path) -> None:
    config = parse(Record, ["--episodes=3", "--limits.max_speed=5", "--robot.port=/dev/arm"], str(rig), USAGE)
    assert (config.episodes, config.rate_hz, config.limits.max_speed) == (3, 30.0, 5.0)
    assert config.robot == Arm("/dev/arm")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--episodes=3"], {"episodes": 3, "judge": False}),
        (["--episodes", "3"], {"episodes": 3}),
        (["--episodes=3", "--judge"], {"judge": True}),
        (["--judge", "--episodes=3"], {"judge": True}),
        (["--judge=no", "--episodes=3"], {"judge": False}),
        (["--judge", "false", "--episodes=3"], {"judge": False}),
        (["--episodes=3", "--rate-hz=5"], {"rate_hz": 5.0}),
        (["--episodes=3", "--limits.max-speed=5"], {"limits": Limits(5.0)}),
        (["--episodes=3", "--episodes=4"], {"episodes": 4}),
        (["--episodes=3", "--seed=-1"], {"seed": -1}),
        (["--episodes=3", "--out=a-b c"], {"out": Path("a-b c")}),
    ],
)
def test_ways_to_write_an_option(options: list[str], expected: dict[str, Any], rig: Path) -> None:
    config = parse(Record, options, str(rig), USAGE)
    assert {name: getattr(config, name) for name in expected} == expected


def test_the_home_folder_that_a_shell_leaves_behind_an_equals_sign(
    rig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse(Record, ["--episodes=3", "--out=~/a b"], str(rig), USAGE).out == tmp_path / "a b"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--episods=3"], ["unknown option --episods", "did you mean episodes?"]),
        (["--episodes=3", "--max_speed=1"], ["unknown option --max_speed", "limits.max_speed"]),
        (["--episodes=3", "--robot.prt=x"], ["--robot.prt", "robot.port"]),
        (["--episodes=many"], ["--episodes: ", "'many'", "int"]),
        (["--episodes=2.5"], ["--episodes: ", "'2.5'"]),
        (["--episodes="], ["--episodes"]),
        (["--episodes"], ["--episodes: expected one argument"]),
        (["--episodes=3", "--control=robot"], ["--control", "'robot'", "script", "teleop"]),
        (["--episodes=3", "--judge", "maybe"], ["unexpected word 'maybe'"]),
        (["--episodes=3", "-n"], ["unexpected word '-n'"]),
        ([], ["missing: --episodes=..."]),
        (["--episodes=3", "--config_path=x.yaml"], ["--config_path is not needed"]),
        (["--episodes=3", "--robot.type=leg"], ["--robot.type", "'leg'", "arm"]),
        (["--episodes=3", "--tools={left: {type: saw}}"], ["--tools.left: unknown type 'saw'; known: arm"]),
        (["--episodes=3", "--tools={left: {type: arn}}"], ["--tools.left: unknown type 'arn' (did you mean arm?)"]),
    ],
)
def test_a_wrong_option_names_itself(options: list[str], parts: list[str], rig: Path) -> None:
    message = refused(options, rig)
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("text", "line", "parts"),
    [
        ("robot:\n  type: arm\nratehz: 3\n", 3, ["unknown key 'ratehz'", "rate_hz"]),
        ("robot:\n  type: arm\n  prt: x\n", 3, ["unknown key 'robot.prt'", "port"]),
        ("robot:\n  type: leg\n", 2, ["unknown robot.type 'leg'", "arm"]),
        ("robot:\n  port: x\n", 2, ["'robot' has no type", "arm"]),
        ("robot: arm\n", 1, ["'robot' needs lines of the form 'key: value'"]),
        ("robot:\n  type: arm\nlimits: 4\n", 3, ["'limits' needs lines"]),
        ("robot:\n  type: arm\nlimits:\n  max_speed: fast\n", 4, ["limits.max_speed", "'fast'"]),
        ("robot:\n  type: arm\nrate_hz: 3\nrate_hz: 4\n", 4, ["'rate_hz' is given twice, first on line 3"]),
        ("robot:\n\ttype: arm\n", 2, ["found character '\\t'"]),
        ("robot:\n  type: arm\nlimits: {max_speed: 3\n", 4, []),
    ],
)
def test_a_wrong_rig_file_names_file_and_line(text: str, line: int, parts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text(text)
    message = refused(["--episodes=3"], path)
    assert message.startswith(f"{path}, line {line}: "), message
    assert all(part in message for part in parts), message


def test_an_option_that_overrides_a_line_is_the_one_that_is_named(rig: Path) -> None:
    assert refused(["--episodes=3", "--rate_hz=x"], rig).startswith("--rate_hz: ")


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words\n"])
def test_a_file_that_is_no_rig(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text(text)
    assert "'key: value'" in refused(["--episodes=3"], path)


def test_a_missing_file_a_folder_and_a_picture(tmp_path: Path) -> None:
    assert "no such rig file" in refused(["--episodes=3"], tmp_path / "none.yaml")
    assert "is a folder" in refused(["--episodes=3"], tmp_path)
    picture = tmp_path / "picture.yaml"
    picture.write_bytes(b"\x89PNG\r\n\xff\xfe")
    assert "not a text file" in refused(["--episodes=3"], picture)


@dataclass(kw_only=True)
class Strict(Rig):
    """A configuration that checks itself."""

    size: int = 1
    other: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"size is {self.size}; it must be at least 1")
        if self.other != self.size:
            raise ConfigError("--other and --size belong together")


@pytest.mark.parametrize(
    ("options", "line", "message"),
    [
        (["--size=0"], "", r"^--size is 0; it must be at least 1 \(see --help\)$"),
        ([], "size: 0\n", r"rig.yaml, line 4: size is 0; it must be at least 1$"),
        (["--size=2"], "", r"^--other and --size belong together$"),
    ],
)
def test_a_config_s_own_check_is_what_the_user_reads(options: list[str], line: str, message: str, rig: Path) -> None:
    rig.write_text(rig.read_text() + line)
    with pytest.raises(ConfigError, match=message):
        parse(Strict, options, str(rig), USAGE)


@pytest.mark.parametrize(
    ("args", "words", "options"),
    [
        (["rig.yaml", "--a=b"], ["rig.yaml"], ["--a=b"]),
        (["--a=b", "rig.yaml"], ["rig.yaml"], ["--a=b"]),
        (["--a", "b", "rig.yaml"], ["rig.yaml"], ["--a", "b"]),
    ],
)
def test_plain_words_before_or_after_options(args: list[str], words: list[str], options: list[str]) -> None:
    assert split_positionals(args, USAGE, 1, 1) == (words, options)


@pytest.mark.parametrize("args", [[], ["--a=b"], ["--judge", "rig.yaml"], ["one", "two"]])
def test_too_few_or_too_many_words_show_the_usage(args: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"expected: svm-robot record RIG"):
        split_positionals(args, USAGE, 1, 1)


def test_any_number_of_words() -> None:
    assert split_positionals(["a", "b", "c"], USAGE, 1, None)[0] == ["a", "b", "c"]


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_needs_no_rig_and_shows_every_comment(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, options = split_positionals([flag], USAGE, 1, 1)
    with pytest.raises(SystemExit) as stop:
        parse(Record, options, words[0], USAGE)
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: {USAGE}\n")
    assert all(option.comment in " ".join(printed.split()) for option in options_of(Record))
    for line in ("--episodes=INT", "--judge", "--control=script|teleop", "--limits.max_speed=NUMBER", "one of: arm"):
        assert line in printed


def test_help_names_what_must_be_given_first() -> None:
    text = " ".join(help_text(Record, USAGE).split())
    assert text.index("--episodes") < text.index("--rate_hz")
    assert text.count("(must be given)") == 2


@pytest.mark.parametrize(
    ("owner", "name", "comment"),
    [
        (Limits, "max_speed", "greatest speed of a joint"),
        (Limits, "joints", "Which joints."),
        (Record, "control", "who acts"),
        (Record, "rate_hz", "steps per second"),
        (Record, "out", ""),
    ],
)
def test_comments_beside_above_and_below_a_field(owner: type, name: str, comment: str) -> None:
    assert comment_of(owner, name) == comment
