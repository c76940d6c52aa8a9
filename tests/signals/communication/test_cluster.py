from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from series import WHOLE
from stepscope.analyses.communication.called import calls_of
from stepscope.analyses.communication.collective_transfers import matching
from stepscope.analyses.communication.matching import Matching
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.communication import cluster, link_rates
from stepscope.simulate import SimJob, simulate
from support import Facts

JOB = SimJob(ranks=3, layers=2, hidden=512, heads=8, sequence=256, batch=16, device="a100", steps=3)


def ranks(trace: Trace) -> list[Signals]:
    return [Signals.of(trace.rank(rank)) for rank in trace.ranks]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> list[Signals]:
    paths = simulate(JOB, tmp_path_factory.mktemp("job") / "job", faults=("slow-rank",))
    return ranks(open_trace(paths, Options(cache=False)))


class TestAJobWithASlowDevice:
    def test_the_others_wait_for_it(self, slow: list[Signals]) -> None:
        waits = [s(cluster.waited_share) for s in slow]
        assert waits[0] == pytest.approx(waits[1], rel=0.01)
        assert waits[0] > 0.5
        assert waits[2] < 0.05
        assert all(s(cluster.collectives).known.all() for s in slow)

    def test_without_waiting_they_would_take_as_long_as_a_job_without_it(self, slow: list[Signals]) -> None:
        gain = slow[0](cluster.gain_ns)
        assert gain == pytest.approx(slow[0](cluster.waited_ns), rel=0.1)
        assert slow[2](cluster.gain_ns) == 0

    def test_its_kernels_take_longer_and_it_has_the_same_work(self, slow: list[Signals]) -> None:
        fast, late = slow[0](cluster.kernels), slow[2](cluster.kernels)
        assert set(fast) == set(late)
        taken = sum(kernel.ns for kernel in late.values()) / sum(kernel.ns for kernel in fast.values())
        assert taken == pytest.approx(4.0, rel=0.01)
        assert slow[0](cluster.work).amount.tolist() == slow[2](cluster.work).amount.tolist()

    def test_one_rank_alone_does_not_know_for_whom_it_waits(self, slow: list[Signals]) -> None:
        trace = slow[0].trace
        alone = Facts()
        alone.step(0, 0, 1000)
        event = alone.kernel("ncclDevKernel_AllReduce", 100, 500, launch=(10, 10), kind="comm")
        alone.row("collectives", event=event, group="0", collective="all_reduce", world_size=3)
        s = Signals.of(alone.trace())
        assert s(cluster.waited_ns) == 0
        assert not s(cluster.collectives).known.any()
        assert trace.ranks == (0,)


@pytest.mark.series
@pytest.mark.skipif(not WHOLE, reason="more of the same; `make series` runs it")
def test_transfers_that_the_library_recorded_tell_as_much(tmp_path: Path) -> None:
    paths = simulate(replace(JOB, device="ascend910b2"), tmp_path / "job", "ascend", faults=("slow-rank",))
    signals = ranks(open_trace(paths, Options(cache=False)))
    assert all(s(cluster.collectives).known.all() for s in signals)
    assert signals[0](cluster.waited_share) > 0.3 > signals[2](cluster.waited_share)


def test_waiting_behind_compute_costs_nothing() -> None:
    facts = Facts()
    facts.step(0, 0, 10_000)
    event = facts.kernel("ncclDevKernel_AllReduce", 1000, 4000, launch=(10, 10), kind="comm", stream="20")
    facts.row("collectives", event=event, group="0", collective="all_reduce", world_size=1)
    facts.kernel("gemm", 2000, 1000, launch=(20, 10))
    found = Signals.of(facts.trace())(cluster.collectives)
    assert (found.wait.tolist(), found.exposed.tolist(), found.left.tolist()) == ([0], [0], [1.0])


def test_a_wait_behind_compute_costs_what_it_moves_out_from_behind_compute() -> None:
    """The other rank comes 1 µs later: of the transfer, which compute would have hidden, 1 µs is exposed."""
    facts = Facts()
    facts.step(0, 0, 10_000)
    event = facts.kernel("ncclDevKernel_AllReduce", 1000, 4000, launch=(10, 10), kind="comm", stream="20")
    facts.row("collectives", event=event, group="0", collective="all_reduce", world_size=2)
    facts.kernel("gemm", 1000, 3000, launch=(20, 10))
    trace = facts.trace()
    alone = Matching()
    alone.add(trace.once(calls_of))
    [(kind, call)] = alone.kinds()
    both = replace(call, shortest=np.array([3_000]), devices=np.array([2]), total=np.array([7_000]), last=np.array([1]))
    trace.job.state(matching, Matching({kind: both}))
    found = Signals.of(trace)(cluster.collectives)
    assert (found.wait.tolist(), found.exposed.tolist()) == ([1_000], [1_000])


@pytest.mark.parametrize(
    ("category", "name", "exchanges", "gain"),
    [
        ("op", "aten::mm", False, 3_000),  # nothing tells that the host waits: what it does not do is no work
        ("sync", "aclrtSynchronizeStream", False, 0),
        ("op", "aten::_local_scalar_dense", False, 0),
        ("op", "aten::mm", True, 0),  # stages of a pipeline wait anyway
    ],
)
def test_where_no_wait_of_the_host_is_recorded_all_waiting_counts(
    category: str, name: str, exchanges: bool, gain: int
) -> None:
    facts = Facts()
    facts.step(0, 0, 10_000)
    facts.host("op", "aten::add", 0, 40)
    event = facts.kernel("hcom", 1000, 4000, launch=(10, 10), kind="comm", stream="20")
    facts.row("collectives", event=event, group="0", collective="all_reduce", world_size=2)
    if exchanges:
        event = facts.kernel("hcom_receive", 7000, 100, launch=(20, 10), kind="comm", stream="20")
        facts.row("collectives", event=event, group="1", collective="recv")
    facts.host(category, name, 6_000, 500)
    trace = facts.trace()
    alone = Matching()
    alone.add(trace.once(calls_of))
    [(known, call)] = alone.kinds()
    both = replace(call, shortest=np.array([1_000]), devices=np.array([2]), total=np.array([5_000]), last=np.array([1]))
    trace.job.state(matching, Matching({known: both}))
    assert Signals.of(trace)(cluster.gain_ns) == gain


def test_without_collectives_there_is_nothing_to_say() -> None:
    facts = Facts()
    facts.step(0, 0, 1000)
    facts.kernel("gemm", 100, 100, launch=(10, 10))
    with pytest.raises(MissingInputError, match="collectives"):
        Signals.of(facts.trace())(cluster.waited_ns)


def test_groups_are_told_by_ranks_kind_and_size() -> None:
    facts = Facts()
    facts.step(0, 0, 100_000)
    for number, (ranks_, bytes_, ns) in enumerate(
        [
            ([0, 1], 2 << 20, 3000),
            ([0, 1], 2 << 20, 5000),
            ([0, 1], 2 << 20, 4000),
            ([0, 2], 2 << 20, 9000),
            ([0, 1], 64, 10),
        ]
    ):
        event = facts.kernel("nccl", number * 10_000, ns, launch=(number * 10, 5), kind="comm")
        facts.row(
            "collectives",
            event=event,
            group="g",
            seq=number,
            collective="all_reduce",
            bytes=bytes_,
            world_size=2,
            ranks=ranks_,
        )
    found = Signals.of(facts.trace())(link_rates.groups)
    assert [(g.ranks, g.count, g.ns, g.exposed) for g in found] == [
        ("[0, 1]", 3.0, 4000, 1.0),
        ("[0, 2]", 1.0, 9000, 1.0),
    ]


def test_pairs_are_ranks_of_the_job() -> None:
    facts = Facts()
    facts.step(0, 0, 100_000)
    whole = facts.kernel("hcom_allReduce", 0, 5000, kind="comm")
    facts.kernel("gemm", 3000, 9000, stream="8")
    facts.row("collectives", event=whole, group="g", collective="all_reduce", bytes=100, ranks=[4, 7])
    for src, dst, link, ns in ((0, 1, "HCCS", 1000), (0, 1, "HCCS", 3000), (1, 1, "ON_CHIP", 50)):
        part = facts.host("other", "Memcpy", 0, ns)
        facts.row("comm_tasks", event=part, collective=whole, kind="copy", src=src, dst=dst, link=link, bytes=4_000_000)
    (pair,) = Signals.of(facts.trace())(link_rates.pairs)
    assert (pair.src, pair.dst, pair.bytes, pair.ns) == (4, 7, 8_000_000, 4000)
    assert pair.rate == pytest.approx(2e12)
    assert pair.exposed == pytest.approx(0.6)


@pytest.mark.parametrize(("world", "missing"), [(1, False), (2, True), (None, True)])
def test_one_recording_is_all_of_a_job_of_one_rank(world: int | None, missing: bool) -> None:
    facts = Facts()
    facts.step(1, 0, 10_000)
    event = facts.kernel("ncclDevKernel_AllReduce", 1_000, 5_000, kind="comm")
    facts.row("collectives", event=event, group="0", collective="all_reduce", world_size=world)
    assert Signals.of(facts.trace(world_size=world))(cluster.ranks_missing) is missing
