from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.communication.replicas import replicas, replicating_share
from support import Facts


def recorded(devices: int = 2, *, parallel: bool = True) -> Signals:
    facts = Facts()
    facts.step(1, 0, 1000)
    if parallel:
        facts.host("annotation", "DataParallel.forward", 0, 600)
        facts.host("op", "Broadcast", 10, 200)
        facts.kernel("ncclDevKernel_Broadcast", 100, 50, launch=(50, 10), device=0, kind="comm")
        facts.host("op", "Gather", 400, 100)
    for device in range(devices):
        facts.kernel("gemm", 300, 100, launch=(250 + device, 1), device=device)
    return Signals.of(facts.trace())


def test_replicas_are_found_with_what_they_cost() -> None:
    s = recorded()
    found = s(replicas)
    assert found is not None
    assert (found.devices, found.dur.tolist(), found.work.size) == (2, [200, 100], 1)
    assert s(replicating_share) == pytest.approx(0.3)


def test_one_device_or_another_way_of_using_two_is_none() -> None:
    assert recorded(1)(replicas) is None
    assert recorded(parallel=False)(replicas) is None
    assert recorded(1)(replicating_share) == 0.0


def test_without_device_activity_it_is_not_known() -> None:
    facts = Facts()
    facts.step(1, 0, 1000)
    with pytest.raises(MissingInputError):
        Signals.of(facts.trace())(replicas)
