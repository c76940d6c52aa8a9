"""Which steps are counted, and what of a recording without steps."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.events.change import Change, Scaled
from stepscope.model.trace import Trace
from support import Facts


def steps(*lengths: int) -> Trace:
    facts, at = Facts(), 0
    for number, length in enumerate(lengths):
        facts.step(number, at, length)
        facts.kernel("gemm", at + 10, length // 2, launch=(at + 2, 5))
        at += length
    return facts.trace()


@pytest.mark.parametrize(
    ("lengths", "counted"),
    [
        ((1_251, 1_000, 1_000, 1_000), (1, 2, 3)),
        ((1_250, 1_000, 1_000, 1_000), (0, 1, 2, 3)),
        ((9_000, 5_000, 1_000, 1_000, 1_000), (2, 3, 4)),
        ((1_000, 9_000, 1_000, 1_000, 1_000), (2, 3, 4)),  # neighbours only
        ((2_001, 1_000), (1,)),
        ((2_000, 1_000), (0, 1)),
    ],
)
def test_only_typical_steps_are_counted(lengths: tuple[int, ...], counted: tuple[int, ...]) -> None:
    assert StepGraph.of(steps(*lengths)).predict(Change()).steps == counted


def test_a_recording_without_steps_is_as_long_as_the_device_is_in_use() -> None:
    facts = Facts()
    before = facts.host("op", "load", 0, 5_000)
    first = facts.kernel("gemm", 6_000, 1_000, launch=(5_900, 50))
    between = facts.host("op", "think", 6_000, 2_000)
    facts.kernel("gemm", 8_100, 1_000, launch=(8_050, 40))
    facts.host("op", "save", 9_200, 7_000)
    graph = StepGraph.of(facts.trace())
    assert graph.predict(Change()).base_ns == 3_100
    assert graph.predict(Change(host=(Scaled(np.array([before]), 0.0),))).saved_ns == 0
    assert graph.predict(Change(host=(Scaled(np.array([between]), 2.0),))).saved_ns == -2_000
    assert graph.predict(Change(device=(Scaled(np.array([first]), 0.5),))).saved_ns == 0
