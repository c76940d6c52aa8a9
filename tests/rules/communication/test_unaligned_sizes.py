from __future__ import annotations

import numpy as np
import pytest

from comm_support import some_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import comm_tasks, communication
from stepscope.signals.communication.comm_tasks import Parts


def parts(dur: int, size: int, collectives: tuple[int, ...] = (0, 1)) -> Parts:
    count = len(collectives)
    return Parts(
        np.arange(count) + 100, np.array(collectives, np.int64), np.arange(count), np.full(count, dur),
        np.full(count, size), np.full(count, "SDMA"),
    )  # fmt: skip


def given(odd: Parts, even: Parts) -> dict[object, object]:
    calls = some_calls(3, dur=10_000, transfer=10_000)
    return {comm_tasks.unaligned: odd, comm_tasks.aligned: even, communication.calls: calls}


def test_odd_sizes_that_are_slower_are_found() -> None:
    (draft,) = drafts("COM004", given(parts(2_000, 10_100), parts(1_000, 10_240)))
    assert {"2", "512 bytes"} <= set(figures(draft.summary))
    assert {"50.7 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    # Each collective loses 50.7 % of its slowest unaligned one: 1,014 of 10,000 ns.
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([0, 1], 0.9)]


def test_odd_sizes_that_are_as_fast_are_not() -> None:
    even = parts(1_000, 10_240)
    assert drafts("COM004", given(parts(1_000, 9_300), even)) == []
    assert len(drafts("COM004", given(parts(1_000, 9_200), even))) == 1


def test_without_odd_sizes_nothing_is_found() -> None:
    assert drafts("COM004", given(parts(1, 1, ()), parts(1_000, 10_240))) == []


def test_without_recorded_transfers_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM004", {})
