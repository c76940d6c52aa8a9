from __future__ import annotations

from dataclasses import replace

import pytest

from counted_support import given
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend
from stepscope.signals.kernels.inspected import inspected


def counted(dtype: str = "fp16", op_class: str = "gemm", intensity: float | None = 320.0, share: float = 0.3,
            **values: float) -> dict[object, object]:  # fmt: skip
    signals = given(share, npu=True, op_class=op_class, intensity=intensity, **values)
    [one] = signals[inspected]  # type: ignore[misc]
    return {**signals, inspected: (replace(one, dtype=dtype),)}


def test_a_cube_that_waits_is_priced_to_where_it_would_be_the_limit() -> None:
    (draft,) = drafts("ASC018", counted(cube_busy=0.4))
    assert draft.change is not None
    assert [one.factor for one in draft.change.device] == [pytest.approx(0.5)]
    assert draft.most_ns == 500_000
    assert "40.0 %" in figures(draft.summary)


@pytest.mark.parametrize(
    "signals",
    [
        counted(cube_busy=0.5),
        counted(cube_busy=0.0),  # nothing that is counted
        counted(cube_busy=0.4, intensity=319.0),
        counted(cube_busy=0.4, intensity=None),
        counted(cube_busy=0.4, dtype="bf16"),
        counted(cube_busy=0.4, op_class="elementwise"),
        counted(cube_busy=0.4, share=0.019),
        counted(mte2_ratio=0.4),
    ],
)
def test_what_memory_limits_or_is_not_counted_is_no_waiting_cube(signals: dict[object, object]) -> None:
    assert drafts("ASC018", signals) == []


@pytest.mark.parametrize(
    ("dtype", "share", "count"), [("fp32", 0.8, 1), ("fp32", 0.799, 0), ("bf16", 0.9, 0), ("", 0.9, 0)]
)
def test_vectors_in_fp32_whose_operands_are(dtype: str, share: float, count: int) -> None:
    found = drafts("ASC018", counted(dtype, "elementwise", vector_fp32=share))
    assert len(found) == count
    assert all(one.change is None and ".half()" in one.actions[0].after for one in found)


@pytest.mark.parametrize(
    ("scalar", "vector", "count"), [(50.0, 50.0, 1), (49.9, 50.1, 0), (0.0, 0.0, 0), (0.0, 9.0, 0)]
)
def test_data_that_the_scalar_unit_moves(scalar: float, vector: float, count: int) -> None:
    found = drafts("ASC018", counted(op_class="other", buffer_scalar=scalar, buffer_vector=vector))
    assert len(found) == count
    assert all("AscendC::Add" in one.actions[0].after for one in found)


def test_without_counters_or_on_other_devices_the_rule_abstains() -> None:
    for signals in ({ascend.recorded: True}, {ascend.recorded: False}):
        with pytest.raises(MissingInputError):
            drafts("ASC018", signals)
