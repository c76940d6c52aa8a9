"""Tables that are sums over ranks: steps by group, operators, collectives."""

from __future__ import annotations

from statistics import quantiles, variance

import numpy as np
import pytest
from tests.cluster.job_support import calls, job

from stepscope.cluster.communication_ranks import communication_ranks
from stepscope.cluster.operator_part import OperatorPart, operators_of
from stepscope.cluster.rank_parts import parts_of
from stepscope.cluster.step_part import StepGroupTimes, StepPart, steps_of
from stepscope.cluster.tables import JOB_TABLES
from stepscope.model.errors import MissingInputError
from stepscope.model.recording import Recording
from support import Facts


def part(**durations: list[int]) -> OperatorPart:
    """Operators that ran for so long each."""
    columns = [
        [len(runs), sum(runs), variance(runs) * (len(runs) - 1) if len(runs) > 1 else 0.0, min(runs), max(runs)]
        for runs in durations.values()
    ]
    return OperatorPart(tuple(durations), *map(np.array, zip(*columns, strict=True)))


def test_an_operator_has_the_moments_of_all_its_runs_and_the_box_of_its_ranks():
    runs = {0: [10, 12, 14], 1: [11, 13], 2: [30, 50], 3: [12, 12, 12]}
    parts = job([[]] * 4)
    for rank, durations in runs.items():
        parts.take(rank, {"operators": part(gemm=durations, **({"once": [500]} if rank == 0 else {}))})
    once, gemm = JOB_TABLES["operator_ranks"].run(parts).records()
    every = [run for durations in runs.values() for run in durations]
    assert (gemm["count"], gemm["total_ns"], gemm["min_ns"], gemm["max_ns"]) == (10, sum(every), 10, 50)
    assert (gemm["variance"], once["variance"]) == (pytest.approx(variance(every)), None)
    means = [12, 12, 40, 12]
    expected = [int(value) for value in quantiles(means, n=4, method="inclusive")]
    assert [gemm[name] for name in ("low_ns", "q1_ns", "median_ns", "q3_ns", "high_ns")] == [12, *expected, 40]
    assert (gemm["slowest_rank"], gemm["by_time"], gemm["by_variance"], gemm["ranks"]) == (2, 2, 1, 4)


def test_operators_of_a_rank_are_its_compute_kernels():
    facts = Facts()
    facts.step(0, 0, 10_000)
    for start, taken in ((100, 100), (300, 300)):
        facts.kernel("gemm", start, taken, launch=(start - 50, 10))
    facts.kernel("Memcpy HtoD", 1000, 10, launch=(700, 10), kind="copy")
    found = operators_of(facts.trace())
    assert (found.names, found.count.tolist(), found.total.tolist()) == (("gemm",), [2], [400])
    assert (found.squares.tolist(), found.least.tolist(), found.most.tolist()) == ([20_000.0], [100], [300])


def test_without_a_device_a_rank_has_no_parts():
    facts = Facts()
    facts.step(0, 0, 10_000)
    failed: list[str] = []
    trace = facts.trace()
    with pytest.raises(MissingInputError):
        operators_of(trace)
    assert "operators" not in parts_of(trace, ("operators",), lambda name, _: failed.append(name))
    assert not failed


def test_a_step_has_the_means_of_the_ranks_and_of_each_group():
    """Two stages of a pipeline: rank 1 computes 8 of 10 ms, rank 0 waits for it in its sends and receives."""
    parts = job([[]] * 2)
    budgets = {0: (10, 4, 5, 0, 1), 1: (10, 8, 1, 0, 1)}
    exchanged = {0: StepGroupTimes(4, 6, 5, 1, 4, 100), 1: StepGroupTimes(2, 2, 1, 1, 0, 300)}
    for rank in (0, 1):
        groups = {(3, "pipe"): exchanged[rank], **({(3, "dp"): StepGroupTimes(1, 1, 0, 1, 0, 0)} if rank == 1 else {})}
        parts.take(rank, {"steps": StepPart({3: budgets[rank]}, groups)})
    every, data, pipe = JOB_TABLES["group_steps"].run(parts).records()
    assert [row["group"] for row in (every, data, pipe)] == [None, "dp", "pipe"]
    assert (every["ranks"], data["ranks"], pipe["ranks"]) == (2, 1, 2)
    assert (pipe["step_ns"], pipe["compute_ns"], pipe["exposed_comm_ns"], pipe["idle_ns"]) == (10, 6, 3, 1)
    assert (pipe["balance"], pipe["busiest_rank"]) == (pytest.approx(8 / 6), 1)
    assert (pipe["comm_ns"], pipe["overlapped_ns"], pipe["transfer_ns"], pipe["wait_ns"]) == (4, 1, 1, 3)
    assert (pipe["bubble_ns"], pipe["calls"], pipe["load_balance"]) == (2, 3.0, pytest.approx(1.5))
    assert (every["calls"], every["comm_ns"], data["load_balance"]) == (3.5, 4, None)


def test_steps_of_a_rank_hold_its_collectives_by_group():
    facts = Facts()
    facts.step(0, 0, 10_000)
    facts.kernel("gemm", 1000, 2000, launch=(100, 10))
    for group, start, taken in (("a", 2000, 3000), ("b", 6000, 1000)):
        event = facts.kernel(
            "ncclDevKernel_AllReduce", start, taken, launch=(start - 500, 10), kind="comm", stream="20"
        )
        facts.row("collectives", event=event, group=group, collective="all_reduce", world_size=1, bytes=100)
    found = steps_of(facts.trace())
    assert found is not None
    assert found.budgets == {0: (10_000, 2000, 3000, 0, 5000)}
    assert found.groups == {
        (0, "a"): StepGroupTimes(1, 3000, 2000, 3000, 0, 100), (0, "b"): StepGroupTimes(1, 1000, 1000, 1000, 0, 100),
    }  # fmt: skip


def test_collectives_are_ranked_by_transfer_wait_and_imbalance():
    """All-reduces move data for 300 of 400 ns; the all-gather waits for rank 0, which is there last."""
    parts = job([[300, 300], [500, 300]])
    for rank, taken in ((0, 100), (1, 700)):
        parts.collectives.add({**calls(rank, [taken], [0], name="all_gather"), "event": np.arange(1)})
    parts.add(2, Recording("2", "kineto", 2, 3), calls(2, [900], [0], group="alone"), [])
    reduce, gather = communication_ranks(parts).records()
    assert (reduce["collective"], reduce["count"], reduce["participants"]) == ("all_reduce", 2, 2)
    assert (reduce["transfer_ns"], reduce["wait_ns"], reduce["longest_wait_ns"]) == (600, 100, 100)
    assert (gather["transfer_ns"], gather["wait_ns"], gather["imbalance"]) == (100, 300, 4.0)
    assert (gather["last_rank"], gather["last_share"], gather["wait_share"]) == (0, 1.0, 0.75)
    assert [(row["by_transfer"], row["by_wait"], row["by_imbalance"]) for row in (reduce, gather)] == [
        (1, 2, 2), (2, 1, 1),
    ]  # fmt: skip
