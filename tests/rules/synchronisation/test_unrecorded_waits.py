from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import ran_on
from stepscope.signals.shared.job import recorded_steps

MS = 1_000_000


def given(total_ms: float = 20, waited: int = 9, where: str = "unknown") -> dict[object, object]:
    reads = ran_on.SlowReads(196, waited, round(total_ms * MS), 8 * MS, np.arange(waited), 100 * MS)
    return {recorded_steps: 1, ran_on.slow_reads: reads, ran_on.ran_on: ran_on.RanOn(where, "", 0, 0, True, "")}  # type: ignore[arg-type]


def test_reads_that_wait_are_found() -> None:
    (draft,) = drafts("SYN006", given())
    assert {"9", "196", "20.0 ms", "20.0 %", "8.00 ms"} <= set(figures(draft.summary))
    assert "detach()" in draft.actions[1].after
    assert (draft.change, draft.cost_ns, draft.taken_ns) == (None, None, 20 * MS)
    assert "Apple" in drafts("SYN006", given(where="mps"))[0].summary


@pytest.mark.parametrize(("steps", "together"), [(24, True), (25, False)])
def test_many_reads_of_a_step_are_gathered_first(steps: int, together: bool) -> None:
    (draft,) = drafts("SYN006", {**given(), recorded_steps: steps})  # 196 reads
    assert ("torch.stack" in draft.actions[0].after) == together
    assert ("torch.stack" in draft.actions[1].after) != together


def test_a_little_waiting_just_misses() -> None:
    assert drafts("SYN006", given(4.99)) == []
    assert len(drafts("SYN006", given(5))) == 1
    assert drafts("SYN006", given(0, waited=0)) == []
    assert drafts("SYN006", given(waited=2)) == []
    assert len(drafts("SYN006", given(waited=3))) == 1


def test_on_the_processor_nothing_is_waited_for() -> None:
    assert drafts("SYN006", given(where="cpu")) == []


def test_with_recorded_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN006", {})
