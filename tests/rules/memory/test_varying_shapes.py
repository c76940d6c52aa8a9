from __future__ import annotations

import pytest

from memory_support import driver_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import driver_memory, memory
from stepscope.signals.memory.driver_memory import DriverCalls
from stepscope.signals.memory.memory import Peak
from stepscope.signals.shared import job


def given(same: float | None, calls: DriverCalls) -> dict[object, object]:
    return {
        memory.same_sizes: same,
        driver_memory.driver_calls: calls,
        memory.peaks: (Peak(0, 1 << 30, False, 2 << 30, None, None),),
        job.platform: "cuda",
    }


def test_sizes_that_never_repeat_and_memory_taken_for_them_are_found() -> None:
    (draft,) = drafts("MEM004", given(0.1, driver_calls(4, "tt")))
    assert figures(draft.summary) == ["10.0 %", "2.00 GiB", "6"]
    assert draft.change is not None
    assert draft.change.host[0].events.size == 8


def test_sizes_that_repeat_are_not() -> None:
    assert drafts("MEM004", given(0.8, driver_calls(4, "tt"))) == []
    assert len(drafts("MEM004", given(0.7999, driver_calls(4, "tt")))) == 1


def test_varying_sizes_without_new_memory_do_no_harm() -> None:
    assert drafts("MEM004", given(0.1, driver_calls(4, "tt", only=[0]))) == []


def test_without_sizes_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM004", given(None, driver_calls(4, "tt")))
