"""Recording, labels and reading of datasets. A recording is a LeRobot v3 dataset at all times."""

from svm_robot.data.dataset import Dataset, load_dataset
from svm_robot.data.episodes import EpisodeData

__all__ = ["Dataset", "EpisodeData", "load_dataset"]
