"""A model as LeRobot keeps it, a folder with its configuration and its weights: what reading one may run into."""

import contextlib
import io
from pathlib import Path
from typing import Any

import draccus
from safetensors import SafetensorError

from svm_robot.errors import CheckpointError

CONFIG, WEIGHTS = "config.json", "model.safetensors"


def load_model(path: Path, device: str, what: str, verb: str, configs: Any, model: Any) -> Any:
    """The ``model`` (a class of LeRobot's kind) saved in ``path``. ``configs``: LeRobot's base class of its settings.

    Raises ``CheckpointError`` for anything else in ``path``; ``verb`` is the command that writes such a ``what``.
    """
    if not path.is_dir():
        raise CheckpointError(f"no {what} checkpoint at {path} ('svm-robot {verb}' writes one)")
    missing = [name for name in (CONFIG, WEIGHTS) if not (path / name).is_file()]
    if missing:
        raise CheckpointError(f"{path} is no {what} checkpoint: {' and '.join(missing)} missing")
    try:
        config = configs.from_pretrained(path, cli_overrides=[f"--device={device}"])
        if not isinstance(config, model.config_class):
            raise CheckpointError(f"{path} holds a {what} of type '{config.type}', this tool reads '{model.name}'")
        with contextlib.redirect_stdout(io.StringIO()):  # LeRobot announces every loading
            return model.from_pretrained(path, config=config, strict=True)
    except CheckpointError:
        raise
    except (
        *(draccus.utils.DecodingError, draccus.ParsingError, SafetensorError),
        *(RuntimeError, ValueError, KeyError),
    ) as error:
        raise CheckpointError(f"{path} cannot be read as a {what}: {' '.join(str(error).split())}") from error
