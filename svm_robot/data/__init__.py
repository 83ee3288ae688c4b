"""Datasets, their labels, and what is kept beside them. A recording is a LeRobot v3 dataset at all times.

What writes episodes is in ``svm_robot.recording``.
"""

from svm_robot.data.dataset import Dataset, load_dataset
from svm_robot.data.episodes import EpisodeData

__all__ = ["Dataset", "EpisodeData", "load_dataset"]
