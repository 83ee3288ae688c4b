"""The families that we know: Feetech's STS and SMS servos, Robotis' Dynamixel X series."""

from functools import partial

from lerobot.motors.encoding_utils import decode_sign_magnitude, decode_twos_complement

from svm_robot.drivers.bus.family import Effort, Family
from svm_robot.drivers.bus.protocol0 import Protocol0
from svm_robot.drivers.bus.protocol2 import Protocol2

FEETECH = Family(
    codec=Protocol0(),
    model_number=(3, 2),
    effort=Effort(
        address=40,  # Torque_Enable to Present_Load
        length=22,
        goal=(2, 2),
        position=(16, 2),
        load=(20, 2),
        idle=20,  # of 1000
        decode={
            "position": partial(decode_sign_magnitude, sign_bit_index=15),
            "load": partial(decode_sign_magnitude, sign_bit_index=10),
        },
    ),
    fault_bits={1: "voltage", 2: "angle sensor", 4: "overheat", 8: "overcurrent", 32: "overload"},
    alert=None,
    fault_address=65,
    keeps_limits=True,
    refusals={},
)

DYNAMIXEL = Family(
    codec=Protocol2(),
    model_number=(0, 2),
    effort=Effort(
        address=64,  # Torque_Enable to Present_Position
        length=72,
        goal=(52, 4),
        position=(68, 4),
        load=(62, 2),
        idle=20,  # of 1000 [.1 %], or so many mA where the model has a current sensor
        decode={
            "position": partial(decode_twos_complement, n_bytes=4),
            "load": partial(decode_twos_complement, n_bytes=2),
        },
    ),
    fault_bits={1: "voltage", 4: "overheat", 8: "encoder", 16: "electrical shock", 32: "overload"},
    alert=0x80,
    fault_address=70,
    keeps_limits=False,
    refusals={
        1: "it failed",
        2: "it does not know the instruction",
        4: "the value is out of range",
        5: "the data have the wrong length",
        6: "the value exceeds the register's limit",
        7: "the register cannot be written now (torque on?)",
    },
)
CRC_REFUSED = 3
"""A Dynamixel's error number for a request that reached it damaged."""
