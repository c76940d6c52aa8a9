from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import one_time
from stepscope.signals.recording import enough
from support import Facts

MS = 1_000_000


def given(total_ms: float, measured_ms: float = 20, **what: bool) -> dict[object, object]:
    settings = {"loop": False, "chosen": True, **what}
    return {
        one_time.first_use: one_time.FirstUse(round(total_ms * MS), "cudaLaunchKernel", 90 * MS, 3, np.array([4])),
        one_time.measured: one_time.Measured(round(measured_ms * MS), 1000 * MS, **settings),
        enough.verdict: enough.Verdict(),
    }


def test_what_dwarfs_the_batch_is_found_with_its_call() -> None:
    (draft,) = drafts("HST018", given(600))
    assert {"600 ms", "60.0 %", "20.0 ms", "90.0 ms", "2"} <= set(figures(draft.summary))
    assert "cudaLaunchKernel" in draft.summary
    assert (draft.cost_ns, draft.placed_as_ns, draft.recorded_share) == (None, 600 * MS, 0.6)


def test_page_locking_is_said_to_take_its_own_time_by_its_wording() -> None:
    found = given(600)
    found[one_time.first_use] = one_time.FirstUse(600 * MS, "cudaHostAlloc", 90 * MS, 3, np.array([4]))
    (draft,) = drafts("HST018", found)
    assert "page-locking" in draft.summary
    assert "page-locking" not in drafts("HST018", given(600))[0].summary


def test_beside_a_loop_it_is_advice_below_its_findings() -> None:
    (draft,) = drafts("HST018", given(600, loop=True))
    assert (draft.taken_ns, draft.placed_as_ns) == (None, None)


def test_it_must_be_long_much_of_the_recording_and_dwarf_what_is_measured() -> None:
    assert drafts("HST018", given(99, 1)) == []
    assert len(drafts("HST018", given(100, 1))) == 1
    assert drafts("HST018", given(299, 100)) == []
    assert len(drafts("HST018", given(300, 100))) == 1


def test_profilers_of_whole_processes_always_see_the_start() -> None:
    assert drafts("HST018", given(600, chosen=False)) == []


def test_what_another_rule_says_already_is_not_said_again() -> None:
    assert drafts("HST018", {**given(600), enough.verdict: enough.Verdict("first use", "Seen.")}) == []


def _cold() -> Facts:
    facts = Facts()
    facts.host("runtime", "cudaMalloc", 0, 900 * MS)
    for number in range(60):
        at = (900 + number) * MS
        facts.host("op", "aten::mm", at, 20_000)
        facts.kernel("gemm", at + 50_000, 900_000, launch=(at, 10_000))
    return facts


def test_a_context_before_a_warm_batch_is_found_in_a_trace() -> None:
    (finding,) = findings("HST018", _cold().trace(reader="kineto"))
    assert "cudaMalloc" in finding.summary
    assert findings("HST018", _cold().trace(reader="nsight")) == []


def test_without_a_host_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST018", {})
