"""LeRobot's processors around the policy: names, batch dimension, device. Normalisation lies inside the model."""

from typing import Any

from lerobot.processor import make_default_pre_post_processors

from svm_robot.policies.configuration_svm_flow import SvmFlowConfig


def make_svm_flow_pre_post_processors(config: SvmFlowConfig, dataset_stats: Any = None) -> tuple[Any, Any]:
    """The pair that LeRobot's factory asks for by this name."""
    return make_default_pre_post_processors(config, dataset_stats)  # type: ignore[no-any-return]
