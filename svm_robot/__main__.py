"""``python -m svm_robot VERB ...``: the same as ``svm-robot VERB ...``."""

import sys

from svm_robot.scripts.main import main

if __name__ == "__main__":  # LeRobot's plugin flag imports every module of the package, this one too
    sys.exit(main())
