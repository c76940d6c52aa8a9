"""Steps of recordings that hold replays of graphs and little else."""

from __future__ import annotations

from stepscope.ingest.derive.steps.inference import LEAST_PERIODS
from stepscope.model.trace import Trace
from support import Facts

LAYER = (("ampere_bf16_gemm", 20_000), ("flash_fwd_kernel", 12_000), ("rms_norm_kernel", 4_000), ("silu_kernel", 5_000))


def replay(facts: Facts, at: int, free: int, layers: int) -> int:
    """One graph of so many layers, launched at `at`; returns when the device is free again."""
    shared = facts.correlation()
    facts.host("launch", "cudaGraphLaunch", at, 9_000, correlation=shared)
    free = max(free, at + 10_000)
    for _ in range(layers):
        for name, dur in LAYER:
            facts.kernel(name, free, dur, launch=shared)
            free += dur + 500
    return free


def replays(*graphs: int, times: int, apart: int = 20_000) -> Trace:
    """These graphs, by their layers, over and over, each launched as soon as the host can."""
    facts, at, free = Facts(), 0, 0
    for _ in range(times):
        for layers in graphs:
            free = replay(facts, at, free, layers)
            at += apart
    return facts.trace()


def steps(trace: Trace) -> list[int]:
    return trace.columns("SELECT count(*) AS n FROM kernels WHERE step IS NOT NULL GROUP BY step ORDER BY step")[
        "n"
    ].tolist()


def test_each_replay_of_a_graph_that_holds_all_layers_is_a_step() -> None:
    trace = replays(8, times=12)
    assert trace.scalar("SELECT count(*) FROM steps WHERE source = 'inferred'") == 12
    assert steps(trace) == [32] * 12


def test_graphs_that_take_turns_are_one_step_together() -> None:
    assert steps(replays(8, 6, times=10)) == [56] * 10


def test_many_micro_batches_and_the_graph_after_them_are_one_step() -> None:
    assert steps(replays(*[7] * 45, 6, times=3)) == [45 * 28 + 24] * 3
    facts, free = Facts(), 0
    cut = [2, *[7] * 44, 6, *[7] * 45, 6, *[7] * 45, 3]
    for number, layers in enumerate(cut):
        free = replay(facts, number * 20_000, free, layers)
    assert steps(facts.trace()) == [2 * 4 + 44 * 28 + 24, 45 * 28 + 24, 45 * 28 + 12]


def test_two_replays_are_no_loop() -> None:
    assert trace_source(replays(8, times=LEAST_PERIODS - 1)) == "whole"


def test_graphs_of_a_layer_each_are_no_steps() -> None:
    facts, free, at = Facts(), 0, 0
    for _ in range(6):
        for _ in range(8):
            free = replay(facts, at, 0, 1)
            at = free + 30_000
        at = free + 400_000
    assert trace_source(facts.trace()) == "whole"


def test_work_that_is_launched_kernel_by_kernel_has_no_replays() -> None:
    facts = Facts()
    for number in range(64):
        name, dur = LAYER[number % len(LAYER)]
        facts.kernel(name, number * 30_000 + 5_000, dur, launch=(number * 30_000, 4_000))
    assert trace_source(facts.trace()) == "whole"


def trace_source(trace: Trace) -> str:
    return str(trace.scalar("SELECT min(source) FROM steps"))


def test_pointwise_work_that_comes_again_within_a_block_makes_it_no_pass() -> None:
    facts = Facts()
    block = (*LAYER, *(("elementwise_kernel", 5_000),) * 20, LAYER[0])
    for number in range(8 * len(block)):
        name, dur = block[number % len(block)]
        facts.kernel(name, number * 30_000 + 5_000, dur, launch=(number * 30_000, 4_000))
    assert trace_source(facts.trace()) == "whole"
