"""The tree of modules and annotations."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.host.modules import modules
from stepscope.model.errors import MissingInputError
from support import Facts, recorded_trace


def tree(f: Facts) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in modules(f.trace()).records()}


def test_host_and_device_time_of_the_tree() -> None:
    f = Facts()
    for start in (0, 1000):
        f.host("module", "nn.Module: Net_0", start, 500)
        f.host("module", "nn.Module: Linear_0", start + 100, 200)
        f.host("op", "aten::addmm", start + 110, 50)
        f.kernel("gemm", start + 400, 70, launch=(start + 120, 5))
        f.kernel("add", start + 480, 10, launch=(start + 400, 5))
    found = tree(f)
    net, linear = found["Net_0"], found["Net_0 / Linear_0"]
    assert (net["count"], net["total_ns"], net["self_ns"], net["share"]) == (2, 1000, 600, 1.0)
    assert (net["device_ns"], net["self_device_ns"], net["kernels"]) == (160, 20, 4)
    assert (linear["total_ns"], linear["self_ns"], linear["device_ns"], linear["self_device_ns"]) == (
        400,
        400,
        140,
        140,
    )
    assert (linear["name"], linear["parent"], linear["depth"], linear["kind"]) == ("Linear_0", "Net_0", 1, "module")
    assert (net["parent"], net["depth"], linear["share"]) == (None, 0, 0.4)


def test_the_same_name_in_another_place_is_another_row() -> None:
    f = Facts()
    f.host("annotation", "a", 0, 100)
    f.host("annotation", "b", 10, 20)
    f.host("annotation", "b", 200, 50)
    f.host("annotation", "b", 0, 30, thread="2")
    assert {path: row["total_ns"] for path, row in tree(f).items()} == {"a": 100, "a / b": 20, "b": 80}


def test_a_module_and_an_annotation_of_one_name_are_told_apart() -> None:
    f = Facts()
    f.host("module", "net", 0, 100)
    f.host("annotation", "net", 200, 30)
    rows = modules(f.trace()).records()
    assert [(row["path"], row["kind"], row["total_ns"]) for row in rows] == [
        ("net", "module", 100),
        ("net", "annotation", 30),
    ]


def test_an_inner_one_that_outlives_the_outer_one_is_cut() -> None:
    f = Facts()
    f.host("annotation", "a", 0, 100)
    f.host("annotation", "b", 60, 60)
    found = tree(f)
    assert (found["a"]["self_ns"], found["a / b"]["total_ns"]) == (60, 40)


def test_the_backward_pass_counts_for_the_module_of_the_forward_operator() -> None:
    f = Facts()
    f.host("module", "Net_0", 0, 200)
    f.host("module", "Linear_0", 20, 100)
    f.host("op", "aten::addmm", 30, 50)
    f.host("op", "autograd::engine::evaluate_function: AddmmBackward0", 300, 100, thread="2")
    f.host("op", "AddmmBackward0", 310, 80, thread="2")
    f.host("op", "aten::mm", 320, 50, thread="2")
    f.kernel("gemm", 400, 70, launch=(330, 5), thread="2")
    f.host("op", "autograd::engine::evaluate_function: Other", 500, 100, thread="2")
    f.kernel("other", 600, 5, launch=(510, 5), thread="2")
    for thread, ts, is_source in (("1", 30, True), ("2", 310, False)):
        track = f.staging.track("host", process="1", thread=thread)
        f.row("raw_flows", kind="forward_backward", key="1", is_source=is_source, ts=ts, track=track)
    found = tree(f)
    assert {path: (row["backward_ns"], row["device_ns"]) for path, row in found.items()} == {
        "Net_0": (70, 0),
        "Net_0 / Linear_0": (70, 0),
    }


def test_without_modules_it_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    with pytest.raises(MissingInputError):
        modules(f.trace())


@pytest.mark.parametrize("recording", ["h100_bert_small", "mi300_resnet_recompute_ddp8", "mtia_inference"])
def test_the_parts_of_real_trees_add_up(recording: str) -> None:
    trace = recorded_trace("kineto", recording, "trace.json.gz")
    rows = modules(trace).records()
    inside: dict[str, tuple[int, int]] = {}
    for row in rows:
        host, device = inside.get(row["parent"], (0, 0))
        inside[row["parent"]] = (host + row["total_ns"], device + row["device_ns"])
    for row in rows:
        host, device = inside.get(row["path"], (0, 0))
        assert row["total_ns"] - row["self_ns"] == host
        assert row["device_ns"] - row["self_device_ns"] == device
    attributed = trace.scalar("SELECT coalesce(sum(dur), 0) FROM kernels WHERE module IS NOT NULL AND kind <> 'sync'")
    assert sum(row["self_device_ns"] for row in rows) == attributed
