"""Everything of ours that LeRobot's commands can use, registered by one import.

``lerobot-... --robot.discover_packages_path=svm_robot`` imports this module, because it imports every direct submodule
of the package that it is given.
"""

import svm_robot.drivers.cameras.config_video_file
import svm_robot.drivers.config_virtual_camera
import svm_robot.drivers.config_virtual_so101
import svm_robot.policies.configuration_svm_flow
import svm_robot.reward.configuration_svm  # noqa: F401
