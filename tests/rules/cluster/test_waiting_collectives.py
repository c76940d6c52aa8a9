from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import communication
from stepscope.signals.shared import job
from support import Facts


def given(*rows: tuple[str, int, int, bool]) -> dict[Any, Any]:
    """One step of 1 ms; calls of (kind, ns, ns that are enough, whether the transfer is told)."""
    names, took, enough, told = zip(*rows, strict=True)
    number, ns = np.arange(len(rows)), np.array(took)
    nothing = np.full(len(rows), -1)
    found = communication.CollectiveCalls(
        number, number * 1000, ns, ns, np.array(enough), np.array(told), ~np.array(told),
        np.zeros(len(rows), np.int64), nothing, nothing, np.array(names), np.array(["g"] * len(rows)), 1,
    )  # fmt: skip
    return {communication.calls: found, job.step_ns: 1_000_000}


def test_a_broadcast_waits_for_its_sender() -> None:
    (draft,) = drafts("CLU007", given(("broadcast", 600_000, 10_000, False), ("all_reduce", 10_000, 10_000, False)))
    assert figures(draft.summary) == ["10.0 µs", "59.0 %", "590 µs", "60", "600 µs"]
    assert draft.cost_ns == 590_000


def test_little_is_not_worth_a_finding() -> None:
    assert drafts("CLU007", given(("all_reduce", 51_999, 2_000, False))) == []
    assert len(drafts("CLU007", given(("all_reduce", 52_000, 2_000, False)))) == 1


def test_what_is_told_is_judged_by_other_rules() -> None:
    assert drafts("CLU007", given(("all_reduce", 600_000, 10_000, True))) == []


def test_a_trace_with_one_collective_that_stands_out() -> None:
    facts = Facts()
    facts.step(0, 0, 1_000_000)
    for number, ns in enumerate((500_000, 10_000, 10_000, 10_000, 10_000, 10_000)):
        event = facts.kernel("hcom_broadcast", 100 + number * 20_000 + (480_000 if number else 0), ns, kind="comm")
        facts.row("collectives", event=event, group="g", collective="broadcast")
    (finding,) = findings("CLU007", facts.trace(world_size=8))
    assert finding.cost_ns == 490_000


def test_without_collectives_the_rule_abstains() -> None:
    facts = Facts()
    facts.step(0, 0, 1_000)
    facts.kernel("gemm", 100, 100)
    with pytest.raises(MissingInputError):
        drafts("CLU007", {job.step_ns: 1, communication.calls: communication.calls.compute(_signals(facts))})


def _signals(facts: Facts) -> Any:
    from stepscope.signals import Signals

    return Signals.of(facts.trace())
