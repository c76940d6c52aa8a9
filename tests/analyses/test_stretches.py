from __future__ import annotations

import numpy as np
import pytest

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.events.change import Change, Scaled, Stretches
from support import Facts


def graph() -> StepGraph:
    """Three steps of 1 ms, each with a kernel that the host launches after 800 µs of Python."""
    facts = Facts()
    for number in range(3):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        facts.host("op", "aten::mm", at + 800_000, 100_000)
        facts.kernel("gemm", at + 860_000, 120_000, launch=(at + 850_000, 5_000))
    return StepGraph.of(facts.trace())


def python(factor: float) -> Change:
    starts = np.arange(3) * 1_000_000
    return Change(time=(Stretches(starts, starts + 800_000, factor),))


@pytest.mark.parametrize(("factor", "saved"), [(1.0, 0), (0.5, 400_000), (0.0, 800_000)])
def test_time_without_events_can_be_scaled(factor: float, saved: int) -> None:
    assert graph().predict(python(factor)).saved_ns == pytest.approx(saved, abs=20_000)


def test_changes_of_stretches_and_events_add_up() -> None:
    both = python(0.0) + Change(host=(Scaled(np.array([1, 5, 9]), 0.5),))
    assert len(both.time) == 1
    assert graph().predict(both).saved_ns > graph().predict(python(0.0)).saved_ns
