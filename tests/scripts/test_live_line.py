"""What ``svm-robot record`` says of the live score after an episode."""

from collections import Counter

import pytest

from svm_robot.recording.recorder import EpisodeSummary
from svm_robot.recording.session import Tally
from svm_robot.recording.timing import Timing
from svm_robot.recording.worker import Waits
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.live import Flag, LiveScore
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.rollout import Outcome
from svm_robot.scripts.record_console import Console


def said(flags: list[Flag], capsys: pytest.CaptureFixture[str]) -> str:
    live = LiveScore(SvmRewardModel(SvmConfig(joints=["a.pos"], action="none", device="cpu")))
    live.times_ms, live.flags = [1.0], flags
    summary = EpisodeSummary(
        episode=0,
        uid=1,
        outcome=Outcome.SUCCESS,
        timing=Timing(20, 10.0, 0.1, 0.0, 0.0, 0.0, {}),
        clip_rate=0.25,
        intervention_rate=0.0,
        notes=(),
        reason="verdict: success",
        rejected=False,
        waits=Waits(),
        saving_s=0.1,
    )
    Console(live, in_place=False)(summary, Tally(1, Counter([Outcome.SUCCESS]), 20, 0.1))
    return capsys.readouterr().out


def test_moments_without_a_score_are_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    flags = [Flag(3, "late", 80.0), Flag(4, "not finite", 1.0), Flag(9, "late", 75.0)]
    assert "live score none, 1.0/1.0 ms (p50/p95), 3 moments without a score (late, not finite)" in said(flags, capsys)
    assert "without a score" not in said([], capsys)
