"""``python -m svm_robot VERB ...``: the same as ``svm-robot VERB ...``."""

import sys

from svm_robot.scripts.main import main

sys.exit(main())
