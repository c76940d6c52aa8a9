"""What a simulated job does is possible on a real machine."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import pytest

from series import series
from stepscope.simulate import PRESETS, SimJob, random_job
from stepscope.simulate.engine.run import Simulation
from stepscope.simulate.records import (
    ActivityRecord,
    CallRecord,
    Flow,
    FrameRecord,
    Memory,
    Record,
    Segment,
    SpanRecord,
)

LINKED = SimJob(ranks=3, ranks_per_host=2, slow_rank=1, noise=0.2, bucket_bytes=1 << 20)


@lru_cache(maxsize=64)
def records_of(job: SimJob) -> tuple[tuple[Record, ...], ...]:
    simulation = Simulation(job)
    ranks: list[list[Record]] = [[] for _ in range(job.ranks)]
    for rank, records in simulation.batches():
        ranks[rank].extend(records)
    return tuple(map(tuple, ranks))


def of(records: tuple[Record, ...], *kinds: type) -> list:
    return [record for record in records if type(record) in kinds]


jobs = pytest.mark.parametrize("job", series(map(random_job, range(40)), 5), ids=lambda job: job.name)


@jobs
def test_host_intervals_nest(job):
    for records in records_of(job):
        threads = defaultdict(list)
        for record in of(records, SpanRecord, CallRecord):
            threads[record.thread].append((record.start, -record.end))
        assert threads
        for intervals in threads.values():
            stack = []
            for start, end in sorted(intervals):
                end = -end
                assert start <= end
                while stack and stack[-1] <= start:
                    stack.pop()
                assert not stack or end <= stack[-1]
                stack.append(end)


@jobs
def test_work_on_a_queue_is_in_order_and_never_overlaps(job):
    for records in records_of(job):
        queues = defaultdict(list)
        for activity in of(records, ActivityRecord):
            queues[activity.queue].append(activity)
        assert queues
        for activities in queues.values():
            for first, second in pairwise(activities):
                assert first.start < first.end <= second.start


@jobs
def test_every_activity_has_an_earlier_launch_and_the_other_way_round(job):
    for records in records_of(job):
        launches = {call.correlation: call for call in of(records, CallRecord) if call.launches}
        activities = of(records, ActivityRecord)
        assert {a.correlation for a in activities} == set(launches)
        for activity in activities:
            call = launches[activity.correlation]
            assert call.start < activity.start
            assert activity.step == call.step
            assert activity.external == call.external
            if activity.spec.direction != "HtoD":
                assert call.end <= activity.start


@jobs
def test_correlations_are_unique_but_for_graphs(job):
    for records in records_of(job):
        calls = [call.correlation for call in of(records, CallRecord)]
        assert len(calls) == len(set(calls))
        alone = [a.correlation for a in of(records, ActivityRecord) if not a.node]
        assert len(alone) == len(set(alone))
        graphs = {a.correlation for a in of(records, ActivityRecord) if a.node}
        assert bool(graphs) == job.graph


@jobs
def test_the_launch_queue_is_never_deeper_than_its_limit(job):
    for records in records_of(replace(job, queue_depth=8, graph=False)):
        returned = {call.correlation: call.end for call in of(records, CallRecord)}
        queues = defaultdict(list)
        for activity in of(records, ActivityRecord):
            queues[activity.queue].append((returned[activity.correlation], activity.end))
        for launched in queues.values():
            for index in range(8, len(launched)):
                assert launched[index - 8][1] <= launched[index][0]


@jobs
def test_allocator_totals_follow_from_its_events(job):
    for records in records_of(replace(job, warmup_steps=0)):
        events, segments = of(records, Memory), of(records, Segment)
        allocated, live = events[0].allocated - events[0].bytes, {}
        for event in events:
            allocated += event.bytes
            assert event.allocated == allocated >= 0
            assert event.reserved >= event.allocated
            if event.bytes > 0:
                assert event.address not in live
                live[event.address] = event.bytes
            else:
                assert live.pop(event.address) == -event.bytes
        assert all(segment.bytes for segment in segments)


@jobs
def test_backward_flows_lead_forward_in_time(job):
    for records in records_of(job):
        flows = of(records, Flow)
        assert all(flow.start < flow.end for flow in flows)
        assert len({flow.id for flow in flows}) == len(flows)
        assert bool(flows) == (job.training and not job.graph)


def test_collectives_end_together_on_the_true_clock():
    by_sequence = defaultdict(list)
    for records in records_of(LINKED):
        for activity in of(records, ActivityRecord):
            if activity.spec.collective is not None:
                by_sequence[activity.sequence].append(activity)
    assert len(by_sequence) > 2
    for participants in by_sequence.values():
        assert len(participants) == 3
        assert len({a.end for a in participants}) == 1
        assert len({a.spec for a in participants}) == 1
        arrived = max(a.start for a in participants)
        assert participants[0].end - arrived == participants[0].spec.duration_ns


def test_sharded_blocks_are_gathered_twice_and_scattered_once():
    job = SimJob(ranks=2, parallel="fsdp", layers=3, steps=1)
    names = defaultdict(list)
    for activity in of(records_of(job)[0], ActivityRecord):
        if activity.spec.collective is not None:
            names[activity.spec.collective.name].append(activity.spec.collective)
    assert {name: len(found) for name, found in names.items()} == {"_allgather_base": 6, "_reduce_scatter_base": 3}
    gathered, scattered = names["_allgather_base"][0], names["_reduce_scatter_base"][0]
    assert gathered.elements_out == 2 * gathered.elements_in == scattered.elements_in


def test_the_first_bucket_is_small_and_the_rest_is_not():
    job = SimJob(ranks=2, hidden=1024, steps=1)
    sizes = [a.spec.bytes for a in of(records_of(job)[0], ActivityRecord) if a.spec.kind == "comm"]
    assert len(sizes) == 3
    assert sizes[0] < sizes[2] < job.bucket_bytes < sizes[1] < 2 * job.bucket_bytes


def test_a_slow_rank_waits_least():
    records = records_of(LINKED)
    waits = [sum(a.end - a.start for a in of(rank, ActivityRecord) if a.spec.kind == "comm") for rank in records]
    assert min(waits) == waits[1]


def test_python_frames_have_callers_around_them():
    (records,) = records_of(replace(PRESETS["stacks"], warmup_steps=0))
    frames = {frame.id: frame for frame in of(records, FrameRecord)}
    assert any(frame.name == "Python GC" for frame in frames.values())
    for frame in frames.values():
        if frame.parent:
            parent = frames[frame.parent]
            assert parent.start <= frame.start
            assert frame.end <= parent.end


def test_warmup_is_simulated_but_not_recorded():
    job = SimJob(warmup_steps=2, steps=1)
    simulation = Simulation(job)
    records = [record for _, batch in simulation.batches() for record in batch]
    steps = {r.spec.name for r in of(tuple(records), SpanRecord) if r.spec.name.startswith("Profiler")}
    assert steps == {"ProfilerStep#2"}
    assert min(r.start for r in of(tuple(records), SpanRecord)) >= simulation.truth()[0]["recorded_from"] > 2_000_000


def test_workers_hide_the_loading_they_can():
    def fetched(workers):
        (records,) = records_of(SimJob(workers=workers, load_ns=4_000_000, steps=12, warmup_steps=8))
        spans = [r for r in of(records, SpanRecord) if "DataLoader" in r.spec.name]
        return sum(span.end - span.start for span in spans)

    assert fetched(0) > fetched(1) > fetched(2) > fetched(8)


def test_recompute_runs_the_forward_twice():
    def kernels(job):
        return sum(a.spec.op_class == "attention" for a in of(records_of(job)[0], ActivityRecord))

    assert kernels(SimJob(recompute=True)) == kernels(SimJob()) * 3 // 2


def test_shapes_that_cycle_change_from_step_to_step():
    (records,) = records_of(SimJob(sequence_cycle=2, steps=4))
    work = defaultdict(int)
    for activity in of(records, ActivityRecord):
        work[activity.step] += activity.end - activity.start
    assert len(set(work.values())) == 2
