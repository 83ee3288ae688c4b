"""``svm-robot VERB ...``: find the verb, run it, turn what a user can mend into one line and an exit code."""

import importlib
import sys
from collections.abc import Sequence

from svm_robot.errors import SvmRobotError
from svm_robot.version import __version__

VERBS: dict[str, str] = {
    "record": "record episodes on a rig and label each one",
    "label": "list the labels of a dataset, or change one",
    "pretrain": "clone the recorded actions into a flow policy",
    "evaluate": "success rate of a policy on a rig, with its interval",
    "fit-reward": "train the success/failure discriminator on labelled episodes",
    "score": "score every frame of a dataset and draw the scores into a video",
    "finetune": "finetune a policy on a rig from success and failure",
    "report": "write one HTML page about one or more runs",
    "demo": "the whole loop on the virtual robot",
    "virtual": "start the virtual robot on a serial port of its own",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console command. Returns the exit code (0 done, 2 wrong use, others: ``svm_robot.errors``)."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if args[0] in ("-V", "--version"):
        print(f"svm-robot {__version__}")
        return 0
    verb, rest = args[0], args[1:]
    if verb not in VERBS:
        print(f"svm-robot: unknown verb '{verb}'; the verbs are: {', '.join(VERBS)}", file=sys.stderr)
        return 2
    try:
        module = importlib.import_module(f"svm_robot.scripts.{verb.replace('-', '_')}")
        return int(module.main(rest))
    except SvmRobotError as error:
        print(f"svm-robot {verb}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"svm-robot {verb}: stopped by Ctrl-C", file=sys.stderr)
        return 130


def usage() -> str:
    """The first screen: every verb with one line."""
    width = max(map(len, VERBS))
    rows = "\n".join(f"  {verb:<{width}}  {what}" for verb, what in VERBS.items())
    return f"usage: svm-robot VERB ... [--option=value]\n\n{rows}\n\nsvm-robot VERB --help shows what a verb takes."


if __name__ == "__main__":
    sys.exit(main())
