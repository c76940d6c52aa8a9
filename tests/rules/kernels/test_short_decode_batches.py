from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import job, serving

MS = 1_000_000


def given(tokens: int, gemm: int = 6, *, experts: int = 0, prefill: int = 0) -> dict[object, object]:
    rows = [{"device_ns": 10 * MS, "answer_tokens": tokens}] * 2
    roles = {("decode", "gemm"): 2 * gemm * MS, ("decode", "moe"): 2 * experts * MS}
    roles[("decode", "idle")] = 20 * MS - sum(roles.values())
    return {
        serving.decoding: rows,
        serving.passes: [*rows, {"device_ns": prefill * MS}],
        serving.role_ns: roles,
        job.recorded_steps: 2,
        job.platform: "cuda",
    }


def test_two_short_batches_that_become_one_save_half_of_the_multiplications() -> None:
    (draft,) = drafts("KRN023", given(4))
    assert {"2", "10.0 ms", "4", "60.0 %"} <= set(figures(draft.summary))
    assert draft.cost_ns == 3 * MS


def test_experts_are_in_the_share_and_not_in_the_price() -> None:
    (draft,) = drafts("KRN023", given(4, 1, experts=3))
    assert draft.cost_ns == MS // 2
    assert drafts("KRN023", given(4, 0, experts=4))[0].cost_ns is None


def test_larger_batches_fewer_multiplications_and_mostly_prefill_just_miss() -> None:
    assert len(drafts("KRN023", given(8, 4, prefill=20))) == 1
    assert drafts("KRN023", given(9)) == []
    assert drafts("KRN023", given(4, 3)) == []
    assert drafts("KRN023", given(4, prefill=21)) == []


def test_without_a_recording_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN023", {})
