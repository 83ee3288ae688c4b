"""LeRobot's pipelines around the reward model. Normalisation lives in the model, so they only move tensors."""

from typing import Any

from lerobot.processor import (
    AddBatchDimensionProcessorStep,
    DeviceProcessorStep,
    IdentityProcessorStep,
    PolicyProcessorPipeline,
)
from lerobot.processor.converters import (
    batch_to_transition,
    policy_action_to_transition,
    transition_to_batch,
    transition_to_policy_action,
)

from svm_robot.data.columns import LATENT, SUCCESS
from svm_robot.reward.configuration_svm import SvmConfig

KEPT = (SUCCESS, LATENT, "frame_index")
"""LeRobot's converter drops every key it does not know, labels and noise among them."""


def to_transition(batch: dict[str, Any]) -> Any:
    """LeRobot's conversion, with the columns that this model needs kept beside it."""
    transition = batch_to_transition(batch)
    transition["complementary_data"].update({key: batch[key] for key in KEPT if key in batch})
    return transition


def make_svm_pre_post_processors(config: SvmConfig, dataset_stats: Any = None) -> tuple[Any, Any]:
    """The pair LeRobot's factory asks for by this very name."""
    before = PolicyProcessorPipeline(
        steps=[AddBatchDimensionProcessorStep(), DeviceProcessorStep(device=config.device)],
        name="svm_pre",
        to_transition=to_transition,
        to_output=transition_to_batch,
    )
    after = PolicyProcessorPipeline(
        steps=[IdentityProcessorStep()],
        name="svm_post",
        to_transition=policy_action_to_transition,
        to_output=transition_to_policy_action,
    )
    return before, after
