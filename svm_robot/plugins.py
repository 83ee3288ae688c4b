"""Everything of ours that LeRobot's commands can use, registered by one import.

``lerobot-... --robot.discover_packages_path=svm_robot`` imports this module, because it imports every direct submodule
of the package that it is given.
"""

import svm_robot.policies.configuration_svm_flow
import svm_robot.reward.configuration_svm  # noqa: F401
from svm_robot.drivers.lerobot_devices import register_ours

register_ours()
