"""``svm-robot virtual RIG``: the virtual robot on a serial port of its own, for LeRobot's own commands."""

import time

USAGE = "svm-robot virtual RIG [--robot.task=place] [--robot.emulate_wire_time=true]"
HOW_TO = """port    {port}
cell    {cell}

With these options LeRobot's commands move it (add your own --teleop... or --dataset... behind them):

  --robot.discover_packages_path=svm_robot --robot.type=so101_follower --robot.port={port}
  --robot.id={id} --robot.calibration_dir={cell}
  --robot.cameras='{{{cameras}}}'

Ctrl-C ends it."""
CAMERA = "{role}: {{type: virtual, cell: {cell}, role: {role}, width: {width}, height: {height}, fps: {fps:g}}}"
LOOK_EVERY_S = 0.5


def main(args: list[str]) -> int:
    """Run until Ctrl-C."""
    from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
    from svm_robot.drivers.rig import RigConfig
    from svm_robot.drivers.virtual.cell import CALIBRATION_ID, VirtualCell
    from svm_robot.errors import ConfigError
    from svm_robot.scripts.cli import parse, split_positionals

    words, options = split_positionals(args, USAGE, 1, 1)
    rig = parse(RigConfig, options, rig=words[0], usage=USAGE)
    if not isinstance(rig.robot, VirtualSO101Config):
        raise ConfigError(f"{words[0]} describes a real robot; only a virtual_so101 can be started like this")
    cell = VirtualCell(rig.robot.cell_options(rig.seed))
    try:
        cell.open()
        sizes, rates = cell.options.sizes, cell.options.rates
        cameras = ", ".join(
            CAMERA.format(role=role, cell=cell.folder, height=height, width=width, fps=rates[role])
            for role, (height, width) in sizes.items()
        )
        print(HOW_TO.format(port=cell.port, cell=cell.folder, id=CALIBRATION_ID, cameras=cameras), flush=True)
        while True:
            time.sleep(LOOK_EVERY_S)
            cell.status()  # raises when the process has died
    except KeyboardInterrupt:
        return 0
    finally:
        cell.close()
