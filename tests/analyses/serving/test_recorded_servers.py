"""Passes of real servers, against what their raw files say, read here by other means than the program's.

Kernels belong to a pass by the correlation of the runtime call that launched them, which lies in the annotation's time;
their roles are told by words in their names, and by the time of the module of experts and the function that chooses
tokens around the call. docs/serving.md has the same figures.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from typing import Any

import pytest

from stepscope.analyses.serving.serving import serving
from stepscope.analyses.serving.serving_roles import serving_roles
from stepscope.analyses.serving.serving_times import serving_times
from support import recorded_trace, shared

#: Words in names of kernels by role, the first that occurs.
WORDS = (
    ("attention", "fmhaSm100a|FmhaBatchPrefill|kernel_unified_attention|paged_attention_ll4mi"),
    ("communication", "multimem_all_reduce|ncclDevKernel"),
    ("cache", "reshape_and_cache|store_kvcache|kv_indices|page_indices"),
    ("moe", "_matmul_ogs|_finalize_matmul|_combined_routing|_topk_forward|_sum_bitmatrix|moe_forward|moe::dev"),
    ("sampling", "ArgMaxOps|resolve_future"),
    ("normalisation", "rms_?norm"),
    ("gemm", "^Cijk|^nvjet|^bmm_"),
    ("copy", "^Memcpy|^Memset|multi_tensor_apply|CatArrayBatchedCopy"),
)
RECORDINGS = {
    "kineto/b200_ws8_eager": ("prefill", 1, 888, 0, None),
    "kineto/mi300_sglang_prefilldecode": ("prefill", 15, 15_360, 0, None),
    "kineto/rocm_vllm_piecewise_graphs": ("mixed", 46, 8_155, 37, 34_489),
    "cases/kineto/mi300_sglang_decode": ("decode", 32, 0, 32, 32_785),
}


def raw(name: str) -> tuple[str, list[tuple[str, str, float]]]:
    """Name of the outermost annotation of a pass, and role, name and duration in µs of what was launched in it."""
    with gzip.open(shared(f"{name}/trace.json.gz"), "rt", encoding="utf-8") as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    passes = [e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("execute_")]
    (one,) = passes
    calls = {
        e["args"]["correlation"]: e["ts"] for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and one["ts"] <= e["ts"] < one["ts"] + one["dur"]
        and "correlation" in e.get("args", {})
    }  # fmt: skip
    around = [
        ("moe" if "FusedMoE" in e["name"] else "sampling", e["ts"], e["ts"] + e["dur"]) for e in events
        if e.get("cat") == "python_function"
        and re.search(r"Module: FusedMoE_|model_runner.py\(\d+\): sample$", e["name"])
    ]  # fmt: skip
    work = []
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"].get("correlation") in calls:
            at = calls[e["args"]["correlation"]]
            role = next((role for role, words in WORDS if re.search(words, e["name"], re.IGNORECASE)), "rest")
            if role not in ("communication", "attention", "cache"):
                role = next((outer for outer, start, stop in around if start <= at < stop), role)
            work.append((role, e["name"], e["dur"]))
    return one["name"], work


@pytest.mark.parametrize("name", RECORDINGS)
def test_passes_and_roles_are_those_of_the_raw_annotations(name: str) -> None:
    trace = recorded_trace(name)
    annotation, work = raw(name)
    phase, requests, read, made, context = RECORDINGS[name]
    (row,) = serving(trace).records()
    # The numbers of the annotation, as it writes them.
    assert {str(number) for number in (read, made) if number} <= set(re.findall(r"\d+", annotation))
    assert (row["phase"], row["requests"], row["tokens"]) == (phase, requests, read + made)
    assert (row["prompt_tokens"], row["answer_tokens"], row["context_tokens"]) == (read, made, context)
    found = {one["role"]: one for one in serving_roles(trace).records()}
    counts, times = Counter(role for role, _, _ in work), Counter[str]()
    for role, _, dur in work:
        times[role] += dur
    named = {role for role, _ in WORDS}
    told = {role: number for role, number in counts.items() if role in named}
    assert {role: found[role]["count"] for role in named & set(found)} == told
    assert sum(one["count"] for one in found.values()) == len(work)
    for role in named & set(found):
        # The program counts work that overlaps once, and copies of before a late start of the profiler not at all.
        assert found[role]["total_ns"] / 1e3 == pytest.approx(times[role], rel=0.02, abs=20 if role == "copy" else 5)
    assert sum(one["total_ns"] for one in found.values()) == row["device_ns"]
    parts = Counter[str]()
    for one in serving_times(trace).records():
        parts[one["of"]] += one["total_ns"]
    assert parts == {"1,000 prompt tokens" if phase == "prefill" else "output token": row["device_ns"]}


@pytest.mark.parametrize(
    ("name", "way", "graphs"),
    [
        ("kineto/b200_ws8_eager", "eager", 0),
        ("kineto/rocm_vllm_piecewise_graphs", "piecewise", 25),
        ("cases/kineto/mi300_sglang_decode", "graph", 1),
    ],
)
def test_replays_are_those_of_the_runtime_calls(name: str, way: str, graphs: int) -> None:
    (row,) = serving(recorded_trace(name)).records()
    assert (row["execution"], row["graphs"]) == (way, graphs)
    with gzip.open(shared(f"{name}/trace.json.gz"), "rt", encoding="utf-8") as file:
        assert len(re.findall(r'"name": "(?:hip|cuda)GraphLaunch"', file.read())) == graphs
