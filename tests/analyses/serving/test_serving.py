from __future__ import annotations

import pytest

from stepscope.analyses.serving.serving import serving
from stepscope.analyses.serving.serving_roles import serving_roles
from stepscope.analyses.serving.serving_times import serving_times
from stepscope.model.serving_names import Pass, served
from stepscope.model.trace import Trace
from support import Facts


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("step[DECODE bs=32]", Pass("decode", 32, 32, 0, 32, 0, 32), "decode of 32 requests"),
        (
            "step[EXTEND bs=15 toks=15360]",
            Pass("prefill", 15, 15_360, 15, 0, 15_360, 0),
            "prefill of 15,360 tokens",
        ),
        ("step[TARGET_VERIFY bs=8 toks=40]", Pass("decode", 8, 40, 0, 8, 0, 40), "decode of 8 requests"),
        ("step[MIXED bs=9 toks=520]", Pass("mixed", 9, 520), "mixed batch of 520 tokens"),
        (
            "execute_context_1(888_788544)_generation_0(0)",
            Pass("prefill", 1, 888, 1, 0, 888, 0),
            "prefill of 888 tokens",
        ),
        (
            "execute_8192_context_9(sq8155sk8430sqsq74sqsk76)_generation_37(sq37sk34489sqsq37sqsk34489)",
            Pass("mixed", 46, 8192, 9, 37, 8155, 37, 34_489),
            "mixed batch of 8,192 tokens",
        ),
        ("execute_context_0_generation_37", Pass("decode", 37, None, 0, 37, 0, None), "decode of 37 requests"),
        ("execute_context_0(0)_generation_1(1)", Pass("decode", 1, 1, 0, 1, 0, 1), "decode of 1 request"),
        ("execute_new_3_cached_0", Pass("prefill", 3, None, 3, 0), "prefill of 3 requests"),
        ("execute_new_1_cached_7", Pass("unknown", 8, None), "batch of 8 requests"),
        (
            "[Executor] _forward_step 12: 2 ctx reqs, 512 ctx tokens, 30 gen reqs",
            Pass("mixed", 32, None, 2, 30, 512, None),
            "mixed batch of 32 requests",
        ),
        ("executeStep: 0 ctx reqs, 64 gen reqs", Pass("decode", 64, None, 0, 64, 0, None), "decode of 64 requests"),
        (
            "[Executor] _forward_step: 0 ctx reqs, 8 gen reqs",
            Pass("decode", 8, None, 0, 8, 0, None),
            "decode of 8 requests",
        ),
        ("step[DRAFT_EXTEND_V2 bs=4]", Pass("unknown", 4, None), "batch of 4 requests"),
        ("_forward_step: 1 ctx reqs, 0 gen reqs", Pass("prefill", 1, None, 1, 0, None, 0), "prefill of 1 request"),
    ],
)
def test_names_of_passes(name: str, found: Pass, said: str) -> None:
    assert served(name) == found
    assert str(found) == said


@pytest.mark.parametrize(
    "name", ["step[IDLE bs=0]", "execute_context_0(0)_generation_0(0)", "execute", "step 3", "step[DRAFT bs=4]"]
)
def test_names_of_other_ranges(name: str) -> None:
    assert served(name) is None


def test_a_pass_has_the_time_of_the_work_launched_in_it_and_is_counted_once() -> None:
    facts = Facts()
    facts.host("annotation", "execute_32_context_0(sq0sk0)_generation_32(sq32sk327)", 0, 1_000_000)
    facts.host("annotation", "step[DECODE bs=32]", 10_000, 900_000)
    facts.kernel("gemm", 100_000, 1_000_000, launch=(50_000, 1_000))
    facts.kernel("gemm", 1_500_000, 500_000, launch=(60_000, 1_000))
    facts.kernel("gemm", 9_000_000, 500_000, launch=(8_000_000, 1_000))
    (row,) = serving(facts.trace()).records()
    assert (row["phase"], row["requests"], row["tokens"], row["device_ns"]) == ("decode", 32, 32, 1_900_000)
    assert row["tokens_per_s"] == pytest.approx(32 / 1.9e-3)


def test_without_such_ranges_there_are_no_rows() -> None:
    facts = Facts()
    facts.host("annotation", "forward", 0, 1_000_000)
    facts.kernel("gemm", 100_000, 1_000_000, launch=(50_000, 1_000))
    assert serving(facts.trace()).records() == []


def test_a_copy_long_before_the_rest_is_no_part_of_the_pass() -> None:
    facts = Facts()
    facts.host("annotation", "step[DECODE bs=32]", 0, 900_000)
    facts.kernel("Memcpy HtoD", 60_000, 1_000, launch=(50_000, 1_000), kind="copy")
    facts.kernel("gemm", 50_000_000, 1_000_000, launch=(60_000, 1_000))
    (row,) = serving(facts.trace()).records()
    assert row["device_ns"] == 1_000_000


@pytest.mark.parametrize(("gap", "length"), [(501_000, 1_000_000), (499_000, 1_500_000)])
def test_what_parts_a_pass_is_a_gap_half_as_long_as_the_rest(gap: int, length: int) -> None:
    facts = Facts()
    facts.host("annotation", "step[DECODE bs=32]", 0, 900_000)
    facts.kernel("Memcpy HtoD", 60_000, 1_000, launch=(50_000, 1_000), kind="copy")
    facts.kernel("gemm", 61_000 + gap, 1_000_000, launch=(60_000, 1_000))
    (row,) = serving(facts.trace()).records()
    assert row["device_ns"] == length


def served_trace() -> Trace:
    """A prompt, a replayed decode pass, another prompt while the first request waits, and an eager decode pass of two.

    Times in microseconds below: prefill 10 to 30, decode 40 to 50, prefill 50 to 80, decode 90 to 110 with 5 idle.
    """
    facts = Facts()

    def kernel(name: str, ts: int, dur: int, call: int) -> None:
        facts.kernel(name, ts * 1000, dur * 1000, launch=(call * 1000, 100))

    facts.host("annotation", "execute_context_1(1000)_generation_0(0)", 0, 9_000)
    kernel("sgemm", 10, 15, 1)
    kernel("flash_fwd_kernel", 25, 5, 2)
    facts.host("annotation", "execute_context_0(0)_generation_1(1)", 20_000, 9_000)
    graph = facts.correlation()
    facts.host("launch", "cudaGraphLaunch", 21_000, 500, correlation=graph)
    for i in range(4):
        facts.kernel("sgemm", 40_000 + 2_500 * i, 2_500, launch=graph)
    facts.host("python", "vllm/v1/core/sched/scheduler.py(200): schedule", 30_000, 1_000)
    facts.host("annotation", "execute_context_1(500)_generation_0(0)", 32_000, 9_000)
    kernel("sgemm", 50, 30, 33)
    facts.host("annotation", "execute_context_0(0)_generation_2(2)", 45_000, 9_000)
    kernel("sgemm", 90, 10, 46)
    facts.host("python", "vllm/v1/sample/sampler.py(60): forward", 48_000, 3_000)
    kernel("reduce_kernel<ArgMaxOps>", 105, 5, 49)
    return facts.trace()


def test_passes_say_how_they_ran_and_what_lies_between() -> None:
    rows = serving(served_trace()).records()
    assert [row["phase"] for row in rows] == ["prefill", "decode", "prefill", "decode"]
    assert [(row["prompts"], row["answers"], row["prompt_tokens"], row["answer_tokens"]) for row in rows] == [
        (1, 0, 1000, 0), (0, 1, 0, 1), (1, 0, 500, 0), (0, 2, 0, 2),
    ]  # fmt: skip
    assert [row["occupancy"] for row in rows] == [0.5, 0.5, 0.5, 1.0]
    assert [row["gap_ns"] for row in rows] == [None, 10_000, 0, 10_000]
    assert [row["idle_ns"] for row in rows] == [0, 0, 0, 5_000]
    assert [row["execution"] for row in rows] == ["eager", "graph", "eager", "eager"]
    assert [row["launches"] for row in rows] == [2, 1, 1, 2]
    assert rows[3]["reason"] == "more requests than in any replayed batch (1)"
    assert rows[0]["reason"] == "only other phases than prefill are replayed"
    assert [row["scheduler_ns"] for row in rows] == [0, 0, 1_000, 0]
    assert [row["sampler_ns"] for row in rows] == [0, 0, 0, 3_000]


def test_roles_of_a_phase_add_up_to_its_passes() -> None:
    rows = serving_roles(served_trace()).records()
    found = {(row["phase"], row["role"]): (row["count"], row["total_ns"]) for row in rows}
    assert found == {
        ("prefill", "gemm"): (2, 45_000), ("prefill", "attention"): (1, 5_000),
        ("decode", "gemm"): (5, 20_000), ("decode", "sampling"): (1, 5_000), ("decode", "idle"): (0, 5_000),
    }  # fmt: skip


def test_a_tokens_time_is_the_stretch_of_decode_over_its_passes() -> None:
    rows = serving_times(served_trace()).records()
    found = {(row["of"], row["part"]): (row["total_ns"], row["token_ns"]) for row in rows}
    assert found == {
        ("output token", "gemm"): (20_000, 10_000), ("output token", "sampling"): (5_000, 2_500),
        ("output token", "in passes, idle"): (5_000, 2_500), ("output token", "prefill in between"): (30_000, 15_000),
        ("output token", "between passes, idle"): (10_000, 5_000),
        ("1,000 prompt tokens", "gemm"): (45_000, 30_000), ("1,000 prompt tokens", "attention"): (5_000, 3_333),
    }  # fmt: skip


def test_all_passes_of_a_server_are_its_steps() -> None:
    facts = Facts()
    for i, mode in enumerate(("EXTEND bs=1 toks=64", "DECODE bs=1", "DECODE bs=1")):
        facts.host("annotation", f"step[{mode}]", i * 10_000, 9_000)
        facts.kernel("sgemm", i * 10_000 + 2_000, 5_000, launch=(i * 10_000 + 1_000, 500))
    for i in range(3, 6):
        name = f"[Executor] _forward_step {i}: 0 ctx reqs, 4 gen reqs"
        facts.host("annotation", name, i * 10_000, 9_000)
        facts.kernel("sgemm", i * 10_000 + 2_000, 5_000, launch=(i * 10_000 + 1_000, 500))
    assert facts.trace().scalar("SELECT count(*) FROM steps") == 6


def test_an_inner_range_tells_what_the_outer_one_leaves_out() -> None:
    facts = Facts()
    facts.host("annotation", "execute_new_0_cached_2", 0, 1_000_000)
    facts.host("annotation", "step[DECODE bs=2]", 10_000, 900_000)
    facts.kernel("gemm", 100_000, 1_000_000, launch=(50_000, 1_000))
    (row,) = serving(facts.trace()).records()
    assert (row["phase"], row["tokens"], row["host_ns"]) == ("decode", 2, 1_000_000)


def cached(dtype: str, cache: str, operator: str = "_C_cache_ops::reshape_and_cache_flash") -> Trace:
    """A decode pass of four requests on an H100, whose two layers write what the shapes say."""
    facts = Facts()
    facts.row("devices", device=0, name="NVIDIA H100 80GB HBM3")
    facts.host("annotation", "execute_4_context_0(sq0sk0)_generation_4(sq4sk1000)", 0, 100_000)
    for i in range(2):
        op = facts.host("op", operator, 1_000 + 10_000 * i, 5_000)
        shapes = f"[[4, 8, 128], [4, 8, 128], {cache}, {cache}, [4]]"
        facts.row("op_inputs", event=op, shapes=shapes, dtypes=f'["{dtype}", "{dtype}", "{dtype}", "{dtype}", "long"]')
        facts.kernel("flash_fwd_kernel", 20_000 * (1 + i), 1_000, launch=(2_000 + 10_000 * i, 500))
    return facts.trace()


def test_the_cache_of_a_decode_pass_is_held_against_the_bandwidth() -> None:
    (row,) = serving(cached("c10::BFloat16", "[100, 16, 8, 128]")).records()
    # Two layers, keys and values, 8 heads of 128, 2 bytes each, for 1,000 tokens, in 2 µs of attention.
    assert row["cache_bytes"] == 2 * 2 * 8 * 128 * 2 * 1000
    assert row["cache_rate_share"] == pytest.approx(row["cache_bytes"] / 2e-6 / 3.35e12)


@pytest.mark.parametrize(("dtype", "operator"), [("Scalar", "reshape_and_cache"), ("c10::Half", "aten::copy_")])
def test_without_sizes_nothing_is_said_of_the_cache(dtype: str, operator: str) -> None:
    (row,) = serving(cached(dtype, "[1]", operator)).records()
    assert (row["cache_bytes"], row["cache_rate_share"]) == (None, None)


def test_experts_are_what_runs_inside_their_operator() -> None:
    facts = Facts()
    facts.host("annotation", "step[DECODE bs=2]", 0, 900_000)
    facts.host("op", "vllm::moe_forward", 10_000, 100_000)
    facts.kernel("bmm_Bfloat16", 100_000, 3_000, launch=(20_000, 1_000))
    facts.kernel("ncclDevKernel_AllReduce", 103_000, 2_000, launch=(30_000, 1_000))
    facts.kernel("bmm_Bfloat16", 105_000, 4_000, launch=(200_000, 1_000))
    facts.kernel("reshape_and_cache_flash_kernel", 109_000, 1_000, launch=(210_000, 1_000))
    found = {row["role"]: row["total_ns"] for row in serving_roles(facts.trace()).records()}
    assert found == {"moe": 3_000, "communication": 2_000, "gemm": 4_000, "cache": 1_000}


def test_padding_shows_by_the_shapes_of_layers() -> None:
    facts = Facts()
    facts.host("annotation", "step[DECODE bs=5]", 0, 900_000)
    for i, rows in enumerate((8, 8, 8, 5)):
        op = facts.host("op", "aten::linear", 10_000 * (i + 1), 5_000)
        facts.row("op_inputs", event=op, shapes=f"[[{rows}, 64], [64, 64]]", dtypes='["float", "float"]')
        facts.kernel("sgemm", 100_000 + 10_000 * i, 5_000, launch=(10_000 * (i + 1) + 500, 500))
    (row,) = serving(facts.trace()).records()
    assert (row["tokens"], row["padded_tokens"]) == (5, 8)
