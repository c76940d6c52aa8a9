"""Two servers side by side, by the role of their kernels."""

from __future__ import annotations

from typing import Any

from stepscope.comparison.build import compare_traces
from stepscope.comparison.parts.served import served_table
from stepscope.model.trace import Trace
from support import Facts


def server(name: str, kernels: dict[str, int]) -> Trace:
    """Three passes of such a name, each with these kernels one after the other."""
    facts = Facts()
    for i in range(3):
        at = i * 1_000_000
        facts.host("annotation", name, at, 900_000)
        for j, (kernel, dur) in enumerate(kernels.items()):
            facts.kernel(kernel, at + 100_000 * (j + 1), dur, launch=(at + 1_000 * (j + 1), 500))
    return facts.trace()


def test_roles_of_two_engines_meet_per_pass_and_per_token() -> None:
    base = server("execute_context_0(0)_generation_2(2)", {"sgemm": 100_000, "flash_fwd_kernel": 60_000})
    new = server("step[DECODE bs=4]", {"Cijk_Alik_Bljk_BBS": 100_000, "paged_attention_ll4mi_QKV": 100_000})
    rows = compare_traces(base, new).table("served_roles").records()
    found = {row["role"]: row for row in rows}
    assert (found["gemm"]["base_ns"], found["gemm"]["new_ns"], found["gemm"]["diff_ns"]) == (100_000, 100_000, 0)
    assert (found["gemm"]["base_token_ns"], found["gemm"]["new_token_ns"]) == (50_000, 25_000)
    assert found["attention"]["token_ratio"] == 25_000 / 30_000
    assert rows[0]["role"] == "gemm"


def test_phases_that_one_side_lacks_and_other_programs_have_no_rows() -> None:
    decode: dict[Any, Any] = {("decode", "gemm"): (10, 5.0)}
    assert served_table(decode, {("prefill", "gemm"): (10, 5.0)}).records() == []
    facts = Facts()
    for i in range(3):
        facts.step(i, i * 1_000_000, 900_000)
        facts.kernel("sgemm", i * 1_000_000 + 100_000, 100_000, launch=(i * 1_000_000 + 1_000, 500))
    served = server("step[DECODE bs=4]", {"sgemm": 100_000})
    assert "served_roles" not in compare_traces(served, facts.trace()).tables


def test_a_role_that_one_side_lacks_is_nothing_there_and_unknown_tokens_are_unknown() -> None:
    base = {("decode", "gemm"): (10, 5.0), ("decode", "moe"): (20, 10.0)}
    rows = served_table(base, {("decode", "gemm"): (30, 7.5)}).records()
    assert [(row["role"], row["new_ns"], row["new_token_ns"]) for row in rows] == [("moe", 0, 0.0), ("gemm", 30, 7.5)]
    (row,) = served_table({("decode", "gemm"): (10, 5.0)}, {("decode", "gemm"): (30, None)}).records()
    assert (row["new_token_ns"], row["token_ratio"], row["diff_ns"]) == (None, None, 20)
