"""Composition of the typical step: its numbers are of one device."""

from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.recording.accounting import account
from support import Facts


@pytest.mark.parametrize(("shorter", "idle"), [(700, 0.2), (800, 0.1)])
def test_numbers_and_causes_are_of_the_device_that_is_idle_least(shorter: int, idle: float) -> None:
    """Which need not be the one that computes most."""
    facts = Facts()
    facts.step(1, 0, 1_000)
    facts.kernel("gemm_kernel", 0, 400, device=0, stream="7")
    facts.kernel("gemm_kernel", 0, 100, device=1, stream="17")
    facts.kernel("ncclDevKernel_AllReduce_Sum", 100, shorter, device=1, stream="20", kind="comm")
    found = Signals.of(facts.trace(rank=0))(account)
    assert (found.idle, found.communication) == pytest.approx((idle, shorter / 1_000))
    assert sum(share for _, share in found.causes) == pytest.approx(idle)
