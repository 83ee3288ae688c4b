"""Configuration of the success/failure discriminator, registered with LeRobot as reward model ``svm``."""

from dataclasses import dataclass, field

from lerobot.configs.rewards import RewardModelConfig
from lerobot.optim import AdamWConfig

from svm_robot.errors import ConfigError

ACTIONS = ("none", "step", "chunk", "noise")
"""What f reads of the action: nothing | this step's target minus the measured joints | the whole chunk relative to the
joints at its start | the latent noise the chunk was generated from."""


@RewardModelConfig.register_subclass("svm")
@dataclass
class SvmConfig(RewardModelConfig):
    """f(frames, state, action[, progress]) -> one logit. Sizes are (height, width) [pixels]."""

    joints: list[str] = field(default_factory=list)
    """Joint keys in the order of state and action."""
    cameras: dict[str, list[int]] = field(default_factory=dict)
    """Camera role -> [height, width] as recorded; none: a reward without pictures."""
    action: str = "step"
    """none | step | chunk | noise"""
    latent_dim: int = 0
    """Length of the noise; only for action=noise."""
    chunk: int = 4
    """Control steps per decision; the chunk's length for action=chunk."""
    progress: bool = False
    """Let f see the clock h / H. Off by default: a clock is the first shortcut a classifier finds."""
    horizon_steps: int = 0
    """H in control steps; only for progress=true."""
    feature_dim: int = 32
    """Features per camera."""
    side: int = 64
    """Longer side of the pictures inside the model [pixels]; larger frames are scaled down."""
    freeze_encoder: bool = False
    """Train the head only. True when the encoder is a copy of a policy's."""
    encoder_fingerprint: str = ""
    """Hash of the encoder's weights: equal to the policy's when both see the same features."""
    hidden: int = 128
    """Width of the head's two hidden layers."""
    beta: float = 20.0
    """Logits are clipped to [-beta, beta] [nats] where they become a reward."""
    temperature: float = 1.0
    """P(success) = sigmoid(logit / temperature); fitted on held-out episodes."""
    lr: float = 3e-4
    """Learning rate of Adam."""
    robot_type: str = ""
    """Robot of the episodes this was fitted on."""
    rate_hz: float = 0.0
    """Control rate of those episodes [Hz]."""
    dataset: str = ""
    """Name of the dataset it was fitted on, for people."""
    dataset_id: str = ""
    """Fingerprint of that dataset, which tells it apart whatever its folder is called."""
    label_hash: str = ""
    """Snapshot of the labels it was fitted on."""
    metrics: dict[str, list[float]] = field(default_factory=dict)
    """Held-out figures as [value, low, high]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action not in ACTIONS:
            raise ConfigError(f"unknown action kind '{self.action}'; there are: {', '.join(ACTIONS)}")
        if self.action == "noise" and self.joints and self.latent_dim < 1:
            raise ConfigError("action=noise needs latent_dim, the length of the noise behind each chunk")
        if not self.beta > 0 or not self.temperature > 0:
            raise ConfigError(f"beta and temperature must be above 0, got {self.beta} and {self.temperature}")

    @property
    def action_dim(self) -> int:
        """A: how many numbers of the action f reads."""
        sizes = {"none": 0, "step": len(self.joints), "chunk": self.chunk * len(self.joints), "noise": self.latent_dim}
        return sizes[self.action]

    @property
    def input_dim(self) -> int:
        """m: length of the head's input."""
        return len(self.cameras) * self.feature_dim + len(self.joints) + self.action_dim + self.progress

    @property
    def per_decision(self) -> bool:
        """True when one score belongs to a whole chunk, not to a control step."""
        return self.action in ("chunk", "noise")

    @property
    def action_delta_indices(self) -> list[int] | None:
        """LeRobot's data loader: which actions, relative to the frame, come with it."""
        return list(range(self.chunk)) if self.action == "chunk" else None

    def get_optimizer_preset(self) -> AdamWConfig:
        """LeRobot's trainer: the optimiser."""
        return AdamWConfig(lr=self.lr, weight_decay=0.0)
