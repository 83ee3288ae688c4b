"""Finetune robots on real hardware from success and failure (Success Visitation Matching).

This package is THE METHOD; the rooms beside it (``drivers``, ``calibration``, ``policies``, ``scripts``)
are imported as ``svm_robot.drivers`` and so on: see docs/map.md.
"""
