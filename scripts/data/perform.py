"""Tells a plan, and carries it out unless it is only to be told."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svm_robot.curation.rebuild.edit import Plan


def perform(plan: "Plan", dry_run: bool) -> int:
    """Print what happens, in full for a dry run; returns the exit code."""
    if dry_run:
        plan.check()
        print("\n".join([*plan.lines(), "nothing was written (--dry_run)"]))
        return 0
    for note in plan.notes:
        print(f"note: {note}", file=sys.stderr)
    from tqdm import tqdm

    total = sum(len(part.episodes) for part in plan.parts)
    with tqdm(total=total, desc="episodes", disable=None, leave=False) as bar:

        def tick(done: int, of: int) -> None:
            bar.update()

        built = plan.carry_out(tick)
    for made in built:
        print(f"{made.root}: {made.episodes} episodes, {made.frames} frames, checked")
        for text in made.encoded:
            print(f"note: pictures were encoded again: {text}", file=sys.stderr)
        if made.backup is not None:
            print(f"what was there before is kept as {made.backup}")
    return 0
