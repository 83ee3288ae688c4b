"""Single pictures inside the rows of a data file."""

import io

import numpy as np
import pyarrow as pa
from PIL import Image

from svm_robot.data.episode_stats import PictureStats, Stats
from svm_robot.errors import DataError


def still_stats(pictures: pa.Array) -> Stats:
    """Statistics of a column of encoded pictures. Raises ``DataError`` for one that does not decode."""
    stats = PictureStats()
    for stored in pictures.to_pylist():
        try:
            stats.add(np.asarray(Image.open(io.BytesIO(stored["bytes"])).convert("RGB")))
        except (OSError, TypeError) as error:
            raise DataError(f"the picture of frame {stats.frames} does not decode ({error})") from error
    return stats.result()
