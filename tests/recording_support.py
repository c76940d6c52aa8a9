"""What rules about recordings say of ranks whose gaps are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Draft
from stepscope.signals import Signals
from stepscope.signals.recording import recording
from stepscope.signals.shared import job


def advised(
    code: str, *gaps: Mapping[str, float], profiler: str = "kineto", given: Mapping[Any, Any] | None = None
) -> list[Draft]:
    """What a rule says of a job with a rank for each of the gaps; `given` are further signals of all."""
    rule = all_rules()[code].rule
    assert rule.job_check is not None
    shared = {recording.profiler: profiler, job.platform: "cuda", **(given or {})}
    return list(
        rule.job_check({rank: Signals(rank, {**shared, recording.gaps: one}) for rank, one in enumerate(gaps)}, {})
    )
