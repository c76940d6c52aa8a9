"""What rules about recordings say of ranks whose gaps are given."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Draft
from stepscope.signals import Signals
from stepscope.signals.recording import recording
from stepscope.signals.shared import job


def advised(code: str, *gaps: Mapping[str, float], profiler: str = "kineto") -> list[Draft]:
    """What a rule says of a job with a rank for each of the gaps."""
    rule = all_rules()[code].rule
    assert rule.job_check is not None
    given = {recording.profiler: profiler, job.platform: "cuda"}
    return list(
        rule.job_check({rank: Signals(rank, {**given, recording.gaps: one}) for rank, one in enumerate(gaps)}, {})
    )
