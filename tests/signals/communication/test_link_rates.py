from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.communication.link_rates import pairs
from support import Facts

KIB = 1 << 10


@pytest.mark.parametrize(("least", "found"), [(256 * KIB, [0, 1, 2]), (256 * KIB - 1, [0, 1])])
def test_small_transfers_say_nothing_of_a_link(least: int, found: list[int]) -> None:
    facts = Facts()
    facts.step(0, 0, 100_000)
    whole = facts.kernel("hcom_broadcast", 1_000, 90_000, kind="comm")
    facts.row("collectives", event=whole, group="g", collective="broadcast", ranks=[7, 0, 1, 2])
    for dst, size, ns in ((1, 1024 * KIB, 50_000), (1, 4 * KIB, 40_000), (2, 2048 * KIB, 100_000), (3, least, 20_000)):
        event = facts.host("other", "Memcpy", 1_000, ns)
        facts.row("comm_tasks", event=event, collective=whole, kind="copy", src=0, dst=dst, link="HCCS", bytes=size)
    seen = Signals.of(facts.trace())(pairs)
    assert [pair.dst for pair in seen] == found
    assert seen[0].rate == 1024 * KIB * 1e9 / 50_000  # without what 4 KiB took
