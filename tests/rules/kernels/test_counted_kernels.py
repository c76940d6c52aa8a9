"""Rules on kernels with counters: of a kernel profiler's result, or of an NPU's cores."""

from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend
from stepscope.signals.kernels import inspected
from stepscope.signals.kernels.inspected import Inspected


def given(
    share: float = 0.3, *, npu: bool = False, op_class: str = "gemm", intensity: float | None = 200.0, **values: float
) -> dict[object, object]:
    tool = "counters" if npu else "ncu"
    one = Inspected("kernel", tool, op_class, np.array([7, 8]), 1_000_000, share, intensity, values)
    return {inspected.inspected: (one,), ascend.recorded: npu}


@pytest.mark.parametrize(
    ("values", "stated"),
    [
        ({"excessive_sectors": 0.5}, "50.0 %"),
        ({"bytes_per_sector_load": 16.0}, "16.0"),
        ({"bytes_per_sector_store": 4.0}, "4.0"),
        ({"sectors_per_load": 31.9}, "31.9"),
    ],
)
def test_sectors_that_are_fetched_for_nothing(values: dict[str, float], stated: str) -> None:
    (draft,) = drafts("KRN019", given(**values))
    assert stated in " ".join(figures(draft.summary)) or stated in draft.summary
    assert (draft.taken_ns, draft.events.tolist(), draft.change) == (1_000_000, [7, 8], None)
    assert drafts("KRN019", given(0.0199, **values)) == []


@pytest.mark.parametrize(
    "values", [{"excessive_sectors": 0.499}, {"bytes_per_sector_load": 16.1}, {"sectors_per_load": 16.0}, {}]
)
def test_sectors_that_wide_accesses_fill_are_left_alone(values: dict[str, float]) -> None:
    assert drafts("KRN019", given(**values)) == []


def test_bank_conflicts() -> None:
    (draft,) = drafts("KRN020", given(bank_conflicts=0.2))
    assert "20.0 %" in draft.summary
    assert drafts("KRN020", given(bank_conflicts=0.199)) == []
    assert drafts("KRN020", given(0.019, bank_conflicts=0.5)) == []
    assert drafts("KRN020", given(l2_hit_rate=0.5)) == []


def test_bank_conflicts_of_an_npu_are_cycles() -> None:
    (draft,) = drafts("KRN020", given(npu=True, bank_conflicts=0.15))
    assert "vector instructions" in draft.summary
    assert drafts("KRN020", given(npu=True, bank_conflicts=0.149)) == []


STARVED = {"eligible_warps": 0.3, "occupancy": 0.24, "limit_registers": 2.0, "limit_shared": 5.0, "limit_warps": 16.0,
           "registers": 128.0}  # fmt: skip


def test_registers_that_leave_schedulers_idle() -> None:
    (draft,) = drafts("KRN021", given(**STARVED))
    assert {"0.30", "24.0 %", "2", "128"} <= set(figures(draft.summary))
    assert "__launch_bounds__" in draft.actions[0].after
    (draft,) = drafts("KRN021", given(**{**STARVED, "limit_shared": 1.0, "shared_bytes": 98_304.0}))
    assert "num_stages" in draft.actions[0].after


@pytest.mark.parametrize(
    "changed",
    [{"eligible_warps": 1.0}, {"occupancy": 0.501}, {"limit_warps": 1.0}, {"compute_busy": 0.6}],
)
def test_occupancy_that_does_no_harm(changed: dict[str, float]) -> None:
    assert drafts("KRN021", given(**{**STARVED, **changed})) == []


def test_occupancy_without_counters_of_schedulers() -> None:
    assert drafts("KRN021", given(occupancy=0.1, limit_registers=1.0)) == []


def test_operands_that_come_from_memory() -> None:
    (draft,) = drafts("KRN022", given(l2_hit_rate=0.5, memory_busy=0.6))
    assert {"50.0 %", "60.0 %", "200"} <= set(figures(draft.summary))
    assert len(drafts("KRN022", given(npu=True, l2_hit_rate=0.3, loading=0.9))) == 1


@pytest.mark.parametrize(
    "given_",
    [
        given(l2_hit_rate=0.501, memory_busy=0.9),
        given(l2_hit_rate=0.1, memory_busy=0.599),
        given(l2_hit_rate=0.1, memory_busy=0.9, intensity=99.0),
        given(l2_hit_rate=0.1, memory_busy=0.9, intensity=None),
        given(l2_hit_rate=0.1, memory_busy=0.9, op_class="elementwise"),
        given(l2_hit_rate=0.1),
    ],
)
def test_what_is_read_once_or_little_is_left_alone(given_: dict[object, object]) -> None:
    assert drafts("KRN022", given_) == []


@pytest.mark.parametrize("code", ["KRN019", "KRN020", "KRN021", "KRN022"])
def test_without_counters_the_rules_abstain(code: str) -> None:
    with pytest.raises(MissingInputError):
        drafts(code, {ascend.recorded: False})
