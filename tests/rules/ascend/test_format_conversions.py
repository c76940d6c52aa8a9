from __future__ import annotations

import pytest

from npu_support import npu_kernels
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_kernels as npu


def given(conversion_ns: int) -> dict[object, object]:
    every = npu_kernels(2, dur=[conversion_ns, 95_000], op_type=["TransData", "MatMulV2"])
    return {npu.conversions: every.where(every.op_type == "TransData"), npu.kernels: every}


def test_conversions_are_found_and_priced_away() -> None:
    (draft,) = drafts("ASC012", given(95_000))
    assert {"1", "50.0 %", "95.0 µs"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert (draft.change.device[0].events.tolist(), draft.change.device[0].factor) == ([0], 0.0)


def test_a_few_at_the_edges_are_normal() -> None:
    assert drafts("ASC012", given(4_999)) == []
    assert len(drafts("ASC012", given(5_000))) == 1


def test_other_devices_have_none() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC012", {})
