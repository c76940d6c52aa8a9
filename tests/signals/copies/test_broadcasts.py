from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.copies.broadcasts import Broadcasts, broadcasts, copied_in
from support import Facts


def test_broadcasts_count_where_nothing_is_computed() -> None:
    facts = Facts()
    for number in range(2):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        copy = facts.kernel("Memcpy HtoD", at + 1000, 500, launch=(at + 100, 100), kind="copy")
        facts.row("copies", event=copy, direction="HtoD", bytes=4096)
        sent = facts.kernel("ncclDevKernel_Broadcast", at + 10_000, 50_000, launch=(at + 2000, 100), kind="comm")
        facts.row("collectives", event=sent, group="0", collective="broadcast", bytes=4000)
        reduced = facts.kernel("ncclDevKernel_AllReduce", at + 200_000, 50_000, launch=(at + 3000, 100), kind="comm")
        facts.row("collectives", event=reduced, group="0", collective="all_reduce", bytes=9000)
        facts.kernel("gemm", at + 30_000, 100_000, launch=(at + 4000, 100))
    s = Signals.of(facts.trace())
    assert s(broadcasts) == Broadcasts(1.0, 4000, 20_000)
    assert s(copied_in) == 4096


def test_without_any_there_is_nothing_to_say() -> None:
    facts = Facts()
    facts.step(1, 0, 1000)
    facts.kernel("gemm", 100, 100, launch=(10, 10))
    with pytest.raises(MissingInputError, match="no broadcast"):
        Signals.of(facts.trace())(broadcasts)
