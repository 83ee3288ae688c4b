"""The house rules that a reader relies on: who imports whom, how large things get, and that nothing points nowhere."""

import ast
import configparser
import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from svm_robot.scripts.main import VERBS

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("svm_robot", "drivers", "calibration", "policies", "scripts", "tools")
LINKED = ("drivers", "calibration", "policies", "scripts")
FILE_LINES, FUNCTION_LINES = 300, 70


@cache
def in_git() -> list[Path]:
    """What git holds or would hold, links included: no environment, no runs, no caches."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listing.split("\0") if name]


def tracked() -> list[Path]:
    """Its files."""
    return [path for path in in_git() if path.is_file() and not path.is_symlink()]


def links() -> list[Path]:
    """Its symbolic links."""
    return [path for path in in_git() if path.is_symlink()]


def sources() -> list[Path]:
    """Python files of the rooms, each once (not again through the links)."""
    return [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ROOMS]


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def test_import_contracts_hold() -> None:
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_every_room_is_bound_by_a_contract() -> None:
    config = setup_cfg()
    contracts = [section for section in config.sections() if section.startswith("importlinter:contract:")]
    bound = {name for section in contracts for name in config[section].get("source_modules", "").split()}
    packages = {f"svm_robot.{path.parent.name}" for path in (ROOT / "svm_robot").glob("*/__init__.py")}
    assert packages - {"svm_robot.scripts"} == bound, "scripts may import everything, every other package is bound"
    layers = config["importlinter:contract:layers"]["layers"].split()
    assert {f"svm_robot.{name}" for name in ("stats", "errors")} < set(layers)


def test_the_rooms_are_linked_into_the_package() -> None:
    for room in LINKED:
        link = ROOT / "svm_robot" / room
        assert link.is_symlink(), f"svm_robot/{room} must be a link (Windows: git config core.symlinks true)"
        assert str(link.readlink()) == f"../{room}" and (link / "__init__.py").is_file()
        module = importlib.import_module(f"svm_robot.{room}")
        assert module.__file__ is not None and Path(module.__file__).resolve() == ROOT / room / "__init__.py"


def test_every_link_of_the_checkout_is_relative_and_leads_into_it() -> None:
    assert {link.name for link in links()} >= set(LINKED)
    for link in links():
        assert not link.readlink().is_absolute() and link.exists(), link
        assert link.resolve().is_relative_to(ROOT), link


@pytest.mark.parametrize("module", ["svm_robot", "svm_robot.drivers", "svm_robot.drivers.virtual.world"])
def test_what_must_stay_light_loads_neither_torch_nor_lerobot(module: str) -> None:
    script = f"import sys, {module}; print([name for name in ('torch', 'lerobot', 'cv2') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_files_stay_small_enough_to_read() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert len(lengths) > 20
    assert {str(path): lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_functions_stay_small_enough_to_read() -> None:
    long = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines
    assert long == {}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_module_a_usage_line_and_a_page(verb: str) -> None:
    folder, path = ROOT / "scripts" / verb, ROOT / "scripts" / f"{verb.replace('-', '_')}.py"
    path = folder / "__init__.py" if folder.is_dir() else path
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assigned = chain.from_iterable(node.targets for node in tree.body if isinstance(node, ast.Assign))
    names = {target.id for target in assigned if isinstance(target, ast.Name)}
    assert "main" in functions and "USAGE" in names
    assert f"\n## {verb}\n" in (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def links_in(page: Path) -> Iterator[str]:
    """Targets of the relative links and pictures of a Markdown page, outside code blocks."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:|#", target):
            yield target.partition("#")[0]


def test_every_link_in_the_documents_leads_somewhere() -> None:
    pages = [path for path in tracked() if path.suffix == ".md"]
    assert len(pages) >= 8
    broken = [f"{p.relative_to(ROOT)}: {t}" for p in pages for t in links_in(p) if not (p.parent / t).exists()]
    assert broken == []


def test_files_named_in_the_documents_exist() -> None:
    named = re.compile(rf"(?<![\w/.])((?:{'|'.join(ROOMS)}|tests|docs|rigs|benchmarks)/[\w./-]*\w)")
    missing, in_map = [], set()
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for name in named.findall(page.read_text(encoding="utf-8")):
            in_map |= {name} if page.name == "map.md" else set()
            if not (ROOT / name).exists() and name != "scripts/my_verb.py":
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert missing == [] and len(in_map) > 50


def test_no_paths_of_one_machine_and_no_registry_hosts() -> None:
    private = re.compile("/roo[t]/|/wor[k]/|/tmp/la[b]|pypi[.]org|python[h]osted")  # brackets: not to find itself
    found = []
    for path in tracked():
        content = path.read_bytes()
        if b"\0" not in content and private.search(content.decode("utf-8")):
            found.append(str(path.relative_to(ROOT)))
    assert found == []


def test_the_lock_holds_all_that_setup_cfg_asks_for() -> None:
    config = setup_cfg()
    wanted = config["options"]["install_requires"].splitlines()
    wanted += chain.from_iterable(extra.splitlines() for extra in config["options.extras_require"].values())
    requirements = [Requirement(line) for line in wanted if line.strip() and not line.lstrip().startswith("#")]
    assert {"torch", "lerobot", "mujoco", "pytest", "uv"} <= {requirement.name for requirement in requirements}
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", lock, flags=re.MULTILINE))
    for requirement in requirements:
        version = pins.get(requirement.name.lower().replace("_", "-"))
        assert version is not None, f"{requirement.name} is not in requirements.lock: make lock"
        assert requirement.specifier.contains(version), f"{requirement} does not allow {version}: make lock"


def test_test_files_have_names_of_their_own() -> None:
    tests = [path for path in tracked() if path.parts[len(ROOT.parts)] == "tests" and path.suffix == ".py"]
    names = [path.name for path in tests]
    assert "__init__.py" not in names
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


@pytest.mark.slow
def test_a_wheel_holds_the_rooms_and_their_data_files(tmp_path: Path) -> None:
    """A wheel has real folders where the checkout has links. Built from a copy: a stale build/ would leak into it."""
    copy = tmp_path / "copy"
    for path in (*tracked(), *links()):
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target, follow_symlinks=False)
    script = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path)]
    built = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=True, timeout=100)
    listing = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(tmp_path / built.stdout.split()[-1])],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    rooms = [path for path in tracked() if path.suffix in (".py", ".xml", ".html", ".css", ".yaml")]
    for path in rooms:
        parts = path.relative_to(ROOT).parts
        if parts[0] in (*LINKED, "rigs", "svm_robot"):
            inside = "/".join(parts if parts[0] == "svm_robot" else ("svm_robot", *parts))
            assert f"{inside} " in listing, f"not in the wheel: {inside}"
    assert "\ntests/" not in listing and "\ndrivers/" not in listing
