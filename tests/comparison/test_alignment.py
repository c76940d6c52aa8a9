"""Call trees meet in spite of other names, and what does not meet is shown as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.matching.alignment import aligned
from stepscope.comparison.matching.call_tree import CallNode
from stepscope.comparison.matching.names import read_names
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from support import Facts, recorded_trace


def tree(*children: CallNode | str) -> CallNode:
    return node("", *children)


def node(name: str, *children: CallNode | str, calls: int = 1) -> CallNode:
    made = [child if isinstance(child, CallNode) else node(child) for child in children]
    kind = "op" if "::" in name else "module"
    return CallNode(name, kind, {(one.name, one.kind): one for one in made}, calls=calls)


def matches(base: CallNode, new: CallNode, names: dict[str, str] | None = None) -> list[tuple[str, str, str]]:
    return [(pair.base_path, pair.new_path, pair.match) for pair in aligned(base, new, names)]


def test_equal_names_meet_whatever_their_order() -> None:
    found = matches(tree("a::x", "a::y", "a::z"), tree("a::z", "a::x", "a::y"))
    assert {match for *_, match in found} == {"same"}
    assert len(found) == 3


def test_what_is_renamed_in_place_meets() -> None:
    found = matches(tree("a::x", "aten::flash", "a::z"), tree("a::x", "aten::efficient", "a::z"))
    assert ("aten::flash", "aten::efficient", "renamed") in found


def test_another_number_of_calls_is_something_else() -> None:
    base, new = tree("a::x", node("a::flash", calls=2)), tree("a::x", node("a::efficient", calls=3))
    assert {match for *_, match in matches(base, new)} == {"same", "only base", "only new"}


def test_modules_with_the_same_children_meet() -> None:
    base = tree(node("Attention_3", "Linear_0", "Linear_1", "a::sdpa"))
    new = tree(node("FusedAttention_3", "Linear_0", "Linear_1", "a::flash"))
    found = matches(base, new)
    assert found[0] == ("Attention_3", "FusedAttention_3", "renamed")
    assert ("Attention_3 / a::sdpa", "FusedAttention_3 / a::flash", "renamed") in found


def test_a_wrapper_is_looked_through() -> None:
    base = tree(node("Model_0", "Linear_0"))
    new = tree(node("DistributedDataParallel_0", node("Model_0", "Linear_0")))
    found = matches(base, new)
    assert ("Model_0", "DistributedDataParallel_0 / Model_0", "moved") in found
    assert ("Model_0 / Linear_0", "DistributedDataParallel_0 / Model_0 / Linear_0", "same") in found
    assert ("", "DistributedDataParallel_0", "only new") in found
    assert len(found) == 3
    assert ("DistributedDataParallel_0 / Model_0", "Model_0", "moved") in matches(new, base)


def test_names_of_ones_own_come_first() -> None:
    found = matches(tree("a::old", "a::new"), tree("a::new"), {"a::old": "a::new"})
    assert ("a::old", "a::new", "mapped") in found
    assert ("a::new", "", "only base") in found


def job(op: str, module: str = "Net_0", kernel: str = "sgemm") -> Trace:
    facts = Facts()
    for at in (0, 1000):
        facts.step(at // 1000, at, 1000)
        facts.host("module", f"nn.Module: {module}", at + 1, 300)
        facts.host("op", op, at + 5, 50)
        facts.kernel(kernel, at + 100, 200, launch=(at + 10, 20))
        facts.host("op", "aten::add", at + 400, 50)
        facts.kernel("vectorized_elementwise_kernel", at + 500, 100, launch=(at + 410, 20))
        facts.kernel("lonely_kernel", at + 700, 50)
    return facts.trace()


def test_tables_of_trees_add_up_to_compute() -> None:
    found = compare_traces(job("aten::mm"), job("mine::mm", "Network_0"), CompareOptions(findings=False))
    for name in ("compute_calls", "compute_modules", "compute_module_classes"):
        table = found.table(name)
        assert (sum(table.column("base_ns")), sum(table.column("new_ns"))) == (350, 350)
    modules = {row["name"]: row for row in found.table("compute_modules").records()}
    assert modules["Net_0 → Network_0"]["match"] == "renamed"
    assert (modules["Net_0 → Network_0"]["base_ns"], modules["(outside modules)"]["base_ns"]) == (200, 150)
    calls = {row["name"]: row["match"] for row in found.table("compute_calls").records()}
    assert calls == {"aten::mm → mine::mm": "renamed", "aten::add": "same", "(no operator)": "rest"}


def test_a_map_renames_operators_and_kernels() -> None:
    names = {"aten::mm": "mine::mm", "sgemm": "gemm_v2"}
    options = CompareOptions(names=names, findings=False)
    found = compare_traces(job("aten::mm"), job("mine::mm", kernel="gemm_v2"), options)
    rows = {row["operator"]: row for row in found.table("compute_operators").records()}
    assert (rows["mine::mm"]["base_ns"], rows["mine::mm"]["new_ns"]) == (200, 200)
    assert all(row["ratio"] == 1 for row in found.table("compute_kernels").records())


@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', "\x00"])
def test_what_is_no_map(tmp_path: Path, content: str) -> None:
    (tmp_path / "map.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"map\.json is no JSON object of names"):
        read_names(tmp_path / "map.json")


def test_two_vendors_meet_at_modules_and_operators() -> None:
    traces = [recorded_trace("kineto", f"{device}_bert_small") for device in ("h100", "mi300")]
    found = compare_traces(*traces, CompareOptions(findings=False))
    modules = found.table("compute_module_classes").records()
    assert modules[0]["name"].endswith("BertSdpaSelfAttention")
    assert modules[0]["ratio"] == pytest.approx(3.04, abs=0.01)
    matched = [row for row in found.table("compute_modules").records() if row["match"] == "same"]
    assert sum(row["base_ns"] for row in matched) >= 0.95 * sum(found.table("compute_modules").column("base_ns"))
    operators = {row["operator"]: row for row in found.table("compute_operators").records()}
    assert operators["aten::_flash_attention_forward"]["new_ns"] == 113_656
    for name in ("compute_calls", "compute_modules", "compute_operators", "compute_kernels", "compute_classes"):
        assert sum(found.table(name).column("diff_ns")) == 81_147


def test_a_call_is_of_the_innermost_module_on_the_side_that_has_it() -> None:
    found = compare_traces(job("aten::mm"), job("mine::other_op", "Net_0"), CompareOptions(findings=False))
    of = {row["name"]: row["module"] for row in found.table("compute_calls").records()}
    assert of["aten::add"] is None
    assert {module for name, module in of.items() if "mm" in name or "other_op" in name} == {"Net_0"}
