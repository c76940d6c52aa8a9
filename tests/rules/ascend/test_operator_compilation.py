from __future__ import annotations

import pytest

from npu_support import host_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_dispatch
from stepscope.signals.shared import job


def given(count: int, dur: int, library: int | None = 10_000) -> dict[object, object]:
    return {
        npu_dispatch.compiles: host_calls(count, dur),
        npu_dispatch.library_call_ns: library,
        job.step_ns: 100_000_000,
    }


def test_calls_of_the_old_interface_are_found_and_priced_as_calls_of_the_library() -> None:
    (draft,) = drafts("ASC003", given(19, 500_000))
    assert {"19", "9.5 %", "9.50 ms"} <= set(figures(draft.summary))
    assert "jit_compile=False" in draft.actions[0].after
    assert draft.change is not None
    assert [(part.events.size, part.factor) for part in draft.change.host] == [(19, 0.02)]


def test_many_cheap_ones_are_found_too() -> None:
    assert len(drafts("ASC003", given(20, 1_000))) == 1
    assert drafts("ASC003", given(19, 1_000)) == []


def test_few_must_take_a_hundredth_of_the_step() -> None:
    assert drafts("ASC003", given(10, 99_999)) == []
    assert len(drafts("ASC003", given(10, 100_000))) == 1


def test_without_the_runtimes_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC003", {})
