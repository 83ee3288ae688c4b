"""The one loop that acts, and the seams it acts through: Env, Policy, Listener, Operator."""

from svm_robot.rollout.env import Applied, Env, EnvSpec, Observation
from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Outcome, Step
from svm_robot.rollout.listener import Listener
from svm_robot.rollout.loop import run_episode
from svm_robot.rollout.operator import Operator
from svm_robot.rollout.policy import Policy

__all__ = [
    "Applied",
    "Env",
    "EnvSpec",
    "EpisodeEnd",
    "EpisodeStart",
    "Listener",
    "Observation",
    "Operator",
    "Outcome",
    "Policy",
    "Step",
    "run_episode",
]
