"""Counters of NPUs by names that are the same for all tools."""

from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.kernels.counter_names import counted
from stepscope.signals.kernels.inspected import inspected
from support import Facts


def test_counts_of_one_kind_add_up() -> None:
    assert counted({"aic_mac_fp16_ratio": 0.5, "aic_mac_int8_ratio": 0.25, "aic_cube_fops": 9.0}) == {"cube_busy": 0.75}
    assert counted({"cube_fp16_ratio": 0.5}) == {"cube_busy": 0.5}
    found = counted({"aiv_ub_read_bw_vector": 2.0, "aiv_ub_write_bw_vector": 1.0, "aiv_ub_read_bw_scalar": 4.0})
    assert found == {"buffer_vector": 3.0, "buffer_scalar": 4.0}


def test_of_rates_of_cores_the_largest_counts() -> None:
    assert counted({"aic_mte2_ratio": 0.5, "aiv_mte2_ratio": 0.75}) == {"loading": 0.75}


def test_hits_and_misses_of_reads_make_a_rate_unless_it_is_counted() -> None:
    reads = {"aic_r0_read_cache_hit": 60.0, "aic_r1_read_cache_hit": 0.0, "aic_r0_read_cache_miss_allocate": 20.0,
             "aic_write_cache_hit": 99.0}  # fmt: skip
    assert counted(reads)["l2_hit_rate"] == pytest.approx(0.75)
    assert counted({**reads, "l2_hit_rate": 0.5})["l2_hit_rate"] == pytest.approx(0.5)
    assert "l2_hit_rate" not in counted({"r0_read_cache_hit": 0.0, "r0_read_cache_miss_allocate": 0.0})


def test_numbered_kernels_of_a_graph_are_one_and_their_type_is_known() -> None:
    facts = Facts()
    facts.step(0, 0, 10_000)
    for at, (name, hits) in enumerate((("MatMul12", 10.0), ("MatMul7", 30.0), ("Add3", 1.0))):
        event = facts.kernel(name, at * 1_000, 500, launch=(at * 1_000, 10), dtype="fp16")
        facts.row("kernel_metrics", event=event, metric="aic_r0_read_cache_hit", value=hits)
        facts.row("kernel_metrics", event=event, metric="aic_r0_read_cache_miss_allocate", value=20.0)
    found = Signals.of(facts.trace(reader="ascend"))(inspected)
    rates = {len(one.events): one.values["l2_hit_rate"] for one in found}
    assert rates == {2: pytest.approx(0.5), 1: pytest.approx(1 / 21)}
