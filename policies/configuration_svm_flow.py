"""Configuration of the flow policy, registered with LeRobot as ``svm_flow``."""

from dataclasses import dataclass, field

from lerobot.configs import FeatureType, NormalizationMode, PolicyFeature, PreTrainedConfig
from lerobot.optim import AdamWConfig

from svm_robot.data.columns import ACTION, IMAGES, STATE
from svm_robot.errors import ConfigError


@PreTrainedConfig.register_subclass("svm_flow")
@dataclass
class SvmFlowConfig(PreTrainedConfig):
    """What the policy is made of, and what it was made for.

    Frames and joints reach the model raw: normalisation lies inside it, so the processors around it do none.
    """

    # Control steps per action chunk: one decision.
    chunk_size: int = 4
    # Euler steps from noise to actions when acting.
    solver_steps: int = 5
    # Width and number of the hidden layers.
    hidden: int = 256
    layers: int = 3
    # Features per camera.
    camera_features: int = 32
    # Longer side of the pictures the encoder sees [pixels]; larger frames are scaled down.
    picture_side: int = 64
    # Noise draws per picture in one training step (pictures are dear, draws are cheap).
    noise_draws: int = 4
    # Strength of colour and brightness jitter in training.
    jitter: float = 0.1
    # Learning rate for LeRobot's trainer.
    optimizer_lr: float = 1e-3
    optimizer_weight_decay: float = 1e-4

    # What it was trained on; compared with the robot before anything moves.
    robot_type: str = ""
    joints: list[str] = field(default_factory=list)
    # Camera role -> [height, width] as recorded.
    cameras: dict[str, list[int]] = field(default_factory=dict)
    rate_hz: float = 0.0
    # Where the weights came from.
    dataset_id: str = ""
    label_hash: str = ""
    # Hash of the encoder's weights: a reward that shares it computes the same features.
    encoder_fingerprint: str = ""

    normalization_mapping: dict[str, NormalizationMode] = field(
        default_factory=lambda: dict.fromkeys(("STATE", "ACTION", "VISUAL"), NormalizationMode.IDENTITY)
    )
    push_to_hub: bool = False

    @property
    def latent_shape(self) -> tuple[int, int]:
        """(c, J): the noise has one number per joint and step of the chunk."""
        return self.chunk_size, len(self.joints)

    @property
    def latent_dim(self) -> int:
        """d = c * J, the length of the noise as one vector."""
        return self.chunk_size * len(self.joints)

    @property
    def observation_delta_indices(self) -> None:
        """One observation, the newest."""
        return

    @property
    def action_delta_indices(self) -> list[int]:
        """The chunk that starts at the observation."""
        return list(range(self.chunk_size))

    @property
    def reward_delta_indices(self) -> None:
        """Rewards are not read."""
        return

    def get_optimizer_preset(self) -> AdamWConfig:
        """What LeRobot's trainer uses when it is not told otherwise."""
        return AdamWConfig(lr=self.optimizer_lr, weight_decay=self.optimizer_weight_decay)

    def get_scheduler_preset(self) -> None:
        """A constant rate under LeRobot's trainer; ``svm-robot pretrain`` has its own one-cycle schedule."""
        return

    def validate_features(self) -> None:
        """Refuse features that this policy cannot use (``svm_robot.errors.ConfigError``)."""
        state, action = self.robot_state_feature, self.action_feature
        if state is None or action is None or tuple(state.shape) != tuple(action.shape):
            got = {
                k: tuple(f.shape) for k, f in {**(self.input_features or {}), **(self.output_features or {})}.items()
            }
            raise ConfigError(f"svm_flow needs {STATE} and {ACTION} of the same joints, got {got}")
        if not 1 <= len(self.image_features) <= 4:
            raise ConfigError(f"svm_flow needs 1 to 4 cameras, got {', '.join(self.image_features) or 'none'}")

    def describe(self, robot_type: str, joints: list[str], cameras: dict[str, tuple[int, int]], rate_hz: float) -> None:
        """Note the robot this policy is for, and the features that follow from it."""
        self.robot_type, self.joints, self.rate_hz = robot_type, list(joints), float(rate_hz)
        self.cameras = {role: [int(size[0]), int(size[1])] for role, size in cameras.items()}
        self.input_features = {
            STATE: PolicyFeature(FeatureType.STATE, (len(joints),)),
            **{
                IMAGES + role: PolicyFeature(FeatureType.VISUAL, (3, *map(int, size))) for role, size in cameras.items()
            },
        }
        self.output_features = {ACTION: PolicyFeature(FeatureType.ACTION, (len(joints),))}
