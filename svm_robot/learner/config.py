"""What a finetuning run is told. The comments are the help text of ``svm-robot finetune``."""

from dataclasses import dataclass, field

from svm_robot.errors import ConfigError
from svm_robot.learner.sac import SacConfig
from svm_robot.reward.forms import Shaping, form_named


@dataclass(kw_only=True)
class FinetuneConfig:
    """Budgets count control steps of the robot, offline and warm-up steps included; evaluations are not counted.

    Not frozen, so that the verb's options can be these and a rig's in one class.
    """

    shaping: str = "svm"  # svm: outcome plus clipped logit of the discriminator | outcome: success alone
    steps: int = 8000  # control steps the method may use
    seed: int = 0  # starts, draws and initial weights follow from it
    warmup_episodes: int = 20  # episodes of the unchanged base before anything is trained (offline ones count)
    min_successes: int = 3  # the base keeps acting until so many of its episodes succeeded
    offline_share: float | None = None  # part of every batch that comes from offline data; none: as it falls
    updates_per_decision: float = 6.0  # gradient steps of the policy for every decision (update-to-data ratio)
    first_updates: int = 300  # gradient steps right after the warm-up, at most; more of them drift far from the base
    batch: int = 128  # decisions per gradient step
    fit_first: int = 500  # steps of the discriminator after the warm-up, if the run recorded it itself
    fit_steps: int = 30  # steps of the discriminator after every further episode
    fit_batch: int = 128  # its batch, half successes and half failures
    eval_every: int = 2000  # control steps between two evaluations
    eval_episodes: int = 50  # episodes of an evaluation
    baseline_episodes: int = 50  # episodes of the unchanged base, with sampled and with zero noise; 0: not measured
    final_episodes: int = 50  # fresh episodes of the kept policy after the run; 0: not measured
    lam: float = 0.2  # lambda: what a nat of the clipped logit is worth beside a decision's cost of 1
    beta: float = 5.0  # calibrated logits are clipped to -beta..beta; lambda * beta <= 1 + step_cost: no hovering
    calibrate: bool = True  # divide the logit by the temperature that episodes not yet learned from ask for
    step_cost: float = 0.0  # extra cost of a decision, to keep that bound with a larger lambda or beta
    sac: SacConfig = field(default_factory=SacConfig)  # the learner's own settings

    def __post_init__(self) -> None:
        form_named(self.shaping)
        self.reward_constants  # noqa: B018  (checks lam, beta and step_cost)
        least = dict.fromkeys(("steps", "warmup_episodes", "batch", "eval_every", "eval_episodes"), 1)
        least |= dict.fromkeys(("seed", "min_successes", "first_updates", "fit_first", "fit_steps"), 0)
        least |= {"fit_batch": 2, "baseline_episodes": 0, "final_episodes": 0}
        for name, lowest in least.items():
            if getattr(self, name) < lowest:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be {lowest} or more")
        if not 0 <= self.updates_per_decision < float("inf"):
            raise ConfigError(f"updates_per_decision is {self.updates_per_decision}; it must be 0 or more")
        if self.offline_share is not None and not 0 <= self.offline_share <= 1:
            raise ConfigError(f"offline_share is {self.offline_share}; it must lie in 0..1")

    @property
    def reward_constants(self) -> Shaping:
        """The constants of the reward form."""
        return Shaping(self.lam, self.beta, self.step_cost)
