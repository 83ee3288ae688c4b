"""Kills recordings and fills their disk, again and again, and checks that nothing acknowledged is ever lost.

    python tools/torture.py [--kills=200] [--full=20] [--seed=0] [--theirs=1] [--json] [--keep=FOLDER]

A kill is a SIGKILL at a drawn moment: as a frame is handed over, on an encoder's thread, around an fsync, around a
rename, in the middle of a label, or at any time from outside. After each, every acknowledged episode must load with our
reader and with LeRobot's, sample by sample; a repair of a copy must mend it, and a second one change nothing; and the
next recording must go on at the right number. The same for a disk that runs full at a drawn level. Exit code 1 when
anything was lost; the same seed draws the same moments again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from torture_cases import Case, Child, full_disks, kills

INSIDE = "SVM_TORTURE_INSIDE"
"""Set in the program that runs in a user namespace, where a small disk can be mounted."""


def can_mount() -> bool:
    """True inside a namespace where a small disk can be mounted."""
    return os.environ.get(INSIDE) == "1"


def enter_namespace() -> None:
    """Start again where a disk can be mounted without being root, if this system allows it."""
    allowed = (
        shutil.which("unshare") and subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode == 0
    )
    os.environ[INSIDE] = "1" if allowed else "0"
    if allowed:
        os.execvp("unshare", ["unshare", "-Urm", sys.executable, *sys.argv])


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many kills")
    parser.add_argument("--full", type=int, default=20, help="how many full disks")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same moments")
    parser.add_argument(
        "--theirs", type=int, default=1, help="LeRobot's reader looks at every so many-th case; 0: never"
    )
    parser.add_argument("--each", type=int, default=5, help="kills of one dataset, before a new one begins")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--keep", type=Path, help="keep the datasets in this folder")
    return parser.parse_args()


def main() -> int:
    """Torture, and print what became of it."""
    given = options()
    if INSIDE not in os.environ:
        enter_namespace()
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ |= {"HF_HOME": name + "/hf", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        child = Child()
        try:
            cases: dict[str, list[Case]] = {"kills": [], "full disks": []}
            for case in kills(child, folder, given.kills, given.seed, given.theirs, given.each):
                tell(case, given.json)
                cases["kills"].append(case)
            for case in full_disks(child, folder, given.full, given.seed, given.theirs, can_mount()):
                tell(case, given.json)
                cases["full disks"].append(case)
        finally:
            child.close()
    return summary(cases, given)


def tell(case: Case, as_json: bool) -> None:
    """A line for a person who waits."""
    fate = "killed" if case.died else "failed" if case.error else "ran to its end"
    line = (
        f"{case.number:4}  {case.what:24} {case.pictures:5} {case.cameras} cameras  {fate}, {case.saved} acknowledged"
    )
    print("\n      ".join([line, *case.problems]), file=sys.stderr if as_json else sys.stdout, flush=True)


def summary(cases: Mapping[str, Sequence[Case]], given: argparse.Namespace) -> int:
    """Counts, or all as JSON; the exit code."""
    bad = sum(bool(case.problems) for group in cases.values() for case in group)
    if given.json:
        groups = {name: [asdict(case) for case in group] for name, group in cases.items()}
        print(json.dumps({"seed": given.seed, "mounted": can_mount(), "bad": bad, **groups}, indent=2))
        return int(bad > 0)
    for name, group in cases.items():
        died, failed = sum(case.died for case in group), sum(bool(case.error) for case in group)
        kept, wrong = sum(case.saved for case in group), sum(bool(case.problems) for case in group)
        print(f"{name}: {len(group)}, of them {died} killed and {failed} failed; {kept} acknowledged, {wrong} wrong")
    how = "a disk of its own" if can_mount() else "a limit on the size of files (no disk could be mounted)"
    print(f"full disks were made by {how}; seed {given.seed}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
