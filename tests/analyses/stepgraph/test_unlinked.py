"""Predictions where no device work is linked to the call that launched it, though the host is recorded."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.events.change import Change, Scaled
from support import Facts

STEP = 1_000_000


@pytest.mark.parametrize(
    ("busy", "saved", "at_most"),
    [
        (995_000, 300_000, None),
        (910_000, 300_000, None),
        # Of a device that idles for longer nobody knows whether it waits for the host, or the host for it.
        (880_000, 0, 300_000),
    ],
)
def test_a_device_that_is_always_busy_shows_what_its_work_costs(busy: int, saved: int, at_most: int | None) -> None:
    f = Facts()
    kernels = []
    for step in range(4):
        f.step(step, step * STEP, STEP)
        f.host("op", "aten::mm", step * STEP + 1_000, STEP - 2_000)
        kernels.append(f.kernel("gemm", (step + 1) * STEP - busy - 1_000, busy))
    change = Change(device=(Scaled(np.array(kernels), 1 - 300_000 / busy),))
    found = StepGraph.of(f.trace()).predict(change)
    assert (found.saved_ns, found.devices_ns) == (saved, at_most)


def test_work_that_is_linked_to_its_calls_follows_the_host() -> None:
    f = Facts()
    kernels = []
    for step in range(4):
        f.step(step, step * STEP, STEP)
        f.host("op", "aten::mm", step * STEP + 1_000, STEP - 2_000)
        kernels.append(f.kernel("gemm", step * STEP + 10_000, 985_000, launch=(step * STEP + 2_000, 5_000)))
    change = Change(device=(Scaled(np.array(kernels), 0.7),))
    assert StepGraph.of(f.trace()).predict(change).saved_ns == 0
