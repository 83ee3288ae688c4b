"""docs/commands.md is executed: each usage line is the verb's own, and ``--help`` of each verb prints it."""

import importlib
import re
from pathlib import Path

import pytest

from svm_robot import errors
from svm_robot.scripts.data import SUBCOMMANDS
from svm_robot.scripts.main import VERBS, main

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "commands.md"


def section(verb: str) -> str:
    found = re.search(rf"^## {verb}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found, f"docs/commands.md has no section '## {verb}'"
    return found.group(1)


def module_of(verb: str) -> object:
    return importlib.import_module(f"svm_robot.scripts.{verb.replace('-', '_')}")


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_shows_the_usage_line_of_the_verb(verb: str) -> None:
    usage = getattr(module_of(verb), "USAGE")  # noqa: B009  (a module found by name)
    assert usage.startswith(f"svm-robot {verb}")
    assert f"```\n{usage}\n```" in section(verb)


@pytest.mark.parametrize("verb", VERBS)
def test_help_prints_the_usage_line_and_exits_well(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    printed = capsys.readouterr()
    usage = getattr(module_of(verb), "USAGE")  # noqa: B009
    assert printed.out.startswith(f"usage: {usage}\n") and printed.err == ""


def commands_in_documents() -> list[tuple[str, str]]:
    """(where, command) of every ``svm-robot VERB ...`` line in the documents."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    lines = [(f"{page.name}:{n}", line) for page in pages for n, line in enumerate(page.read_text().splitlines(), 1)]
    return [(where, line.strip()) for where, line in lines if re.match(r"\s*(\$ )?svm-robot [a-z]", line)]


@pytest.mark.parametrize("verb", VERBS)
def test_options_named_in_the_documents_exist(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([verb, "--help"])
    for subcommand in SUBCOMMANDS if verb == "data" else ():
        main([verb, subcommand, "--help"])
    known = set(re.findall(r"^  --([\w.]+)", capsys.readouterr().out, re.MULTILINE)) | {"help"}
    choices = tuple(name.removesuffix("type") for name in known if name.endswith(".type"))
    shown = [("commands.md", section(verb))]
    shown += [(where, line) for where, line in commands_in_documents() if f"svm-robot {verb} " in f"{line} "]
    assert len(shown) > 1
    for where, text in shown:
        for option in re.findall(r"--([a-z][\w.-]*)", text):
            name = option.replace("-", "_")
            assert name in known or (choices and name.startswith(choices)), (
                f"{where}: --{option} is no option of {verb}"
            )


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_the_page_shows_the_usage_line_of_each_data_subcommand(
    subcommand: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(rf"^### data {subcommand}\n(.*?)(?=^##|\Z)", section("data"), re.DOTALL | re.MULTILINE)
    assert found, f"docs/commands.md has no section '### data {subcommand}'"
    assert main(["data", subcommand, "--help"]) == 0
    usage = capsys.readouterr().out.splitlines()[0].removeprefix("usage: ")
    assert usage.startswith(f"svm-robot data {subcommand}") and f"```\n{usage}\n```" in found.group(1)


def test_verbs_named_in_the_documents_exist() -> None:
    verbs = {line.split()[line.split().index("svm-robot") + 1] for _, line in commands_in_documents()}
    assert verbs - set(VERBS) - {"VERB"} == set()


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_option_is_refused_in_one_line(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "word", "--no_such_option=1"]) != 0
    printed = capsys.readouterr().err
    assert printed.startswith(f"svm-robot {verb}: ") and printed.count("\n") == 1


def test_the_page_lists_every_exit_code() -> None:
    codes = {kind.exit_code for kind in vars(errors).values() if hasattr(kind, "exit_code")} | {0, 130, 141, 143}
    text = PAGE.read_text(encoding="utf-8")
    assert [code for code in sorted(codes) if f"| {code} |" not in text] == []
