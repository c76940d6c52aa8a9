from __future__ import annotations

import pytest

from npu_support import npu_kernels
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_kernels as npu


def given(dur: int, dtypes: str = "INT64") -> dict[object, object]:
    every = npu_kernels(
        4, core=["AI_CPU", "AI_CPU", "AI_VECTOR_CORE", "AI_VECTOR_CORE"], op_type=["Cast", "Unique", "Cast", "Cast"],
        dur=[dur, dur, 2_000, 4_000], dtypes=dtypes,
    )  # fmt: skip
    return {npu.on_ai_cpu: every.where(every.core == "AI_CPU"), npu.kernels: every}


def test_long_kernels_on_the_ai_cpu_are_found_and_priced_by_their_like() -> None:
    (draft,) = drafts("ASC001", given(100_000))
    assert {"2", "200 µs"} <= set(figures(draft.summary))
    assert "Cast, Unique" in draft.summary
    assert {"64"} <= set(figures(draft.summary))
    assert draft.change is not None
    # Casts take 3 µs on AI cores; nothing is known of the other, which is taken for ten times as fast there.
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([0], 0.03), ([1], 0.1)]


def test_narrow_types_are_not_blamed() -> None:
    assert "64 bits" not in drafts("ASC001", given(100_000, "FLOAT"))[0].summary


def test_short_ones_are_not_reported() -> None:
    assert drafts("ASC001", given(19_999)) == []
    assert len(drafts("ASC001", given(20_000))) == 1


def test_other_devices_have_none() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC001", {})
