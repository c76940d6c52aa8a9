"""What a profiler's sums of steps tell of communication, where no events are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_totals import received_share
from stepscope.signals.recording.accounting import account
from stepscope.signals.shared.job import step_ns

#: From here on exposed communication is mostly what a stage waits for another one.
_MOSTLY: Final = 0.5


def in_sums(
    s: Signals, actions: tuple[Action, ...], of_stages: tuple[Action, ...], least: float
) -> Iterator[Draft]:  # fmt: skip
    """Say what is exposed, and of receives from other stages of a pipeline that they are.

    Args:
        s: The signals.
        actions: What to do about it.
        of_stages: The same of receives.
        least: Share of the step from which it is told.
    """
    share, received = s(account).communication, s.maybe(received_share) or 0.0
    if share < least:
        return
    exposed = round(share * s(step_ns))
    seen = {"exposed": duration(exposed), "share": percent(share)}
    if received >= _MOSTLY:
        title = "Stages of the pipeline wait for each other"
        summary = said(
            "Exposed communication: {exposed} of each step ({share}) by the profiler's own sums, {received} of that in "
            "receives from another stage, which wait until it has computed: the pipeline's bubble.",
            received=percent(received),
            **seen,
        )
    else:
        title = "Communication is not overlapped with compute"
        summary = said(
            "Exposed communication: {exposed} of each step ({share}) by the profiler's own sums. Which collectives "
            "that is, and how long they wait for other ranks, sums do not tell.",
            **seen,
        )
    yield Draft(
        title=title,
        summary=summary,
        actions=of_stages if received >= _MOSTLY else actions,
        taken_ns=exposed,
        waiting=True,
        confidence=0.5,
        rows=({"table": "step_budget", "where": {}},),
        numbers={"exposed_share": share, "min_share": least},
    )
