from __future__ import annotations

import pytest

from stepscope.analyses.kernels.core_metrics import core_metrics
from stepscope.model.errors import MissingInputError
from support import Facts


def counted(facts: Facts, kind: str, core: str, ts: int, us: int, **metrics: float) -> None:
    event = facts.kernel(f"aclnnX_{kind}", ts, us * 1_000, op_type=kind, core=core)
    for metric, value in metrics.items():
        facts.row("kernel_metrics", event=event, metric=metric, value=value)


def test_counters_are_summed_up_by_type_and_core() -> None:
    facts = Facts()
    counted(facts, "MatMulV2", "AI_CORE", 0, 30, aic_mac_ratio=0.9, aic_main_mem_read_bw=800e9, aic_mac_time=27_000)
    counted(facts, "MatMulV2", "AI_CORE", 50_000, 10, aic_mac_ratio=0.5, aic_main_mem_read_bw=400e9, aic_mac_time=5_000)
    counted(facts, "Add", "AI_VECTOR_CORE", 90_000, 10, aiv_vec_bank_cflt_ratio=0.2, aiv_vec_resc_cflt_ratio=0.0)
    with facts.trace() as trace:
        rows = core_metrics(trace).records()
    assert [(row["name"], row["metric"], row["unit"], row["count"]) for row in rows] == [
        ("MatMulV2", "aic_mac_ratio", "share", 2), ("MatMulV2", "aic_mac_time", "ns", 2),
        ("MatMulV2", "aic_main_mem_read_bw", "bytes/s", 2), ("Add", "aiv_vec_bank_cflt_ratio", "share", 1),
    ]  # fmt: skip
    # Shares and rates by the time of their kernels, times plainly; what is zero throughout has no row.
    assert [row["mean"] for row in rows] == pytest.approx([0.8, 16_000, 700e9, 0.2])
    assert rows[0]["least"] == 0.5
    assert rows[0]["most"] == 0.9
    assert rows[0]["share"] == pytest.approx(0.8)


def test_without_counters_there_is_no_table() -> None:
    with Facts().trace() as trace, pytest.raises(MissingInputError, match="counters"):
        core_metrics(trace)
