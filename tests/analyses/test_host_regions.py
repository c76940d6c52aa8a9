"""Runtime calls, annotations and data loaders."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.host.annotations import annotated_regions
from stepscope.analyses.host.api_calls import api_calls
from stepscope.analyses.host.dataloader import dataloader
from stepscope.model.errors import MissingInputError
from stepscope.model.table import Table
from support import Facts

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def by_name(table: Table) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in table.records()}


def test_runtime_calls_are_summed_by_name_over_threads() -> None:
    f = Facts()
    f.host("launch", "cudaLaunchKernel", 0, 10)
    f.host("launch", "cudaLaunchKernel", 20, 30, thread="2")
    f.host("sync", "cudaDeviceSynchronize", 60, 100)
    f.host("runtime", "cudaMalloc", 200, None)
    f.host("op", "aten::mm", 300, 1000)
    rows = api_calls(f.trace()).records()
    assert [(r["name"], r["category"], r["count"], r["total_ns"], r["threads"]) for r in rows] == [
        ("cudaDeviceSynchronize", "sync", 1, 100, 1),
        ("cudaLaunchKernel", "launch", 2, 40, 2),
        ("cudaMalloc", "runtime", 1, 0, 1),
    ]
    assert [r["share"] for r in rows] == [100 / 140, 40 / 140, 0]


def test_without_runtime_calls_their_table_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    f.kernel("Stream Wait Event", 0, 5, kind="sync")
    with pytest.raises(MissingInputError, match="no runtime calls"):
        api_calls(f.trace())


def test_a_region_has_the_kernels_launched_in_it_at_any_depth() -> None:
    f = Facts()
    f.host("annotation", "forward", 0, 100)
    f.host("annotation", "encoder", 10, 50)
    f.host("op", "aten::mm", 15, 40)
    f.kernel("k", 200, 30, launch=(20, 5))
    f.kernel("k", 240, 7, launch=(70, 5))
    f.kernel("k", 300, 100, launch=(150, 5))
    f.kernel("k", 250, 9, launch=(30, 5), thread="2")
    f.host("annotation", "forward", 400, 60)
    found = by_name(annotated_regions(f.trace()))
    assert list(found) == ["forward", "encoder"]
    forward, encoder = found["forward"], found["encoder"]
    assert (forward["count"], forward["total_ns"], forward["kernels"], forward["device_ns"]) == (2, 160, 2, 37)
    assert (encoder["count"], encoder["total_ns"], encoder["kernels"], encoder["device_ns"]) == (1, 50, 1, 30)
    assert forward["share"] == 160 / 460


def test_a_region_inside_one_of_its_name_counts_once() -> None:
    f = Facts()
    f.host("annotation", "block", 0, 100)
    f.host("annotation", "block", 10, 50)
    f.kernel("k", 200, 30, launch=(20, 5))
    [row] = annotated_regions(f.trace()).records()
    assert (row["count"], row["total_ns"], row["kernels"], row["device_ns"]) == (2, 100, 1, 30)


def test_copies_of_annotations_on_device_tracks_do_not_count() -> None:
    f = Facts()
    f.host("annotation", "forward", 0, 100)
    track = f.staging.track("device", device=0, stream="7")
    f._event("annotation", "forward", 50, 500, track, None, None, None)
    f.kernel("k", 200, 30, launch=(20, 5))
    [row] = annotated_regions(f.trace()).records()
    assert (row["count"], row["total_ns"]) == (1, 100)


def test_loaders_are_regions_too() -> None:
    f = Facts()
    f.host("dataloader", LOADER, 0, 30)
    f.host("annotation", "forward", 40, 10)
    rows = annotated_regions(f.trace()).records()
    assert [(r["name"], r["category"], r["kernels"], r["device_ns"]) for r in rows] == [
        (LOADER, "dataloader", None, None), ("forward", "annotation", None, None)
    ]  # fmt: skip


def test_a_job_without_annotations_has_no_rows() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    assert len(annotated_regions(f.trace())) == 0


def test_waits_for_batches_first_and_later() -> None:
    f = Facts()
    f.host("dataloader", LOADER, 0, 5)  # before the first step
    for number, wait in enumerate((50, 10, 20)):
        f.step(number, 100 * number + 10, 100)
        f.host("dataloader", LOADER, 100 * number + 15, wait)
    [row] = dataloader(f.trace()).records()
    assert row == {
        "name": LOADER, "count": 4, "total_ns": 85, "mean_ns": 21, "median_ns": 10, "min_ns": 5, "max_ns": 50,
        "share": 85 / 300, "rank": 0, "steps": 3, "per_step_ns": 26, "share_of_steps": 80 / 300, "first_ns": 5,
        "later_median_ns": 20, "later_max_ns": 50,
    }  # fmt: skip


def test_a_single_batch_has_no_later_ones() -> None:
    f = Facts()
    f.step(0, 0, 100)
    f.host("dataloader", LOADER, 10, 25)
    f.host("dataloader", "other loader", 50, 5)
    rows = by_name(dataloader(f.trace()))
    assert (rows[LOADER]["first_ns"], rows[LOADER]["later_median_ns"], rows[LOADER]["later_max_ns"]) == (25, None, None)
    assert rows["other loader"]["share_of_steps"] == 0.05


def test_without_a_loader_its_table_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    with pytest.raises(MissingInputError, match="no data loader"):
        dataloader(f.trace())
