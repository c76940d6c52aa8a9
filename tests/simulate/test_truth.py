"""The truth beside a recording agrees with a second, slower computation of it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from series import series
from stepscope.simulate import FAULTS, SimJob, random_job
from stepscope.simulate.budget import IDLE, LabelledSpans, Placed, split
from stepscope.simulate.causes import ALLOC, DATA, DEPENDENCY, LAUNCH_LATENCY, NAMES, OP, SYNC
from stepscope.simulate.engine.queues import DEPENDENCY as BY_EVENT
from stepscope.simulate.engine.queues import LATENCY
from stepscope.simulate.engine.run import Simulation
from stepscope.simulate.hostlog import HostLog
from stepscope.simulate.records import ActivityRecord

PARTS = ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")
WINDOWS = ("host", "span", "tile", "device")


def run(job):
    simulation = Simulation(job)
    ranks = [[] for _ in range(job.ranks)]
    for rank, records in simulation.batches():
        ranks[rank].extend(r for r in records if type(r) is ActivityRecord)
    return ranks, simulation.truth()


def by_points(activities, start, end):
    """Label every stretch between two neighbouring ends of activities by looking at all of them."""
    points = sorted({start, end, *(p for a in activities for p in (a.start, a.end) if start < p < end)})
    sums = dict.fromkeys(PARTS, 0)
    for left, right in pairwise(points):
        running = {a.spec.kind for a in activities if a.start < right and a.end > left}
        part = 0 if "compute" in running else 1 if "comm" in running else 2 if running else 3
        sums[PARTS[part]] += right - left
    return sums


@pytest.mark.parametrize("seed", series(range(25), 4))
def test_budgets_equal_the_slow_computation(seed):
    ranks, truth = run(random_job(seed))
    for activities, rank in zip(ranks, truth, strict=True):
        assert rank["steps"]
        for step in rank["steps"]:
            for window in WINDOWS:
                budget = step[window]
                expected = by_points(activities, budget["begin"], budget["end"])
                assert {part: budget[part] for part in PARTS} == expected


@pytest.mark.parametrize("seed", series(range(60), 6))
def test_parts_and_causes_add_up(seed):
    _, truth = run(random_job(seed))
    for rank in truth:
        previous = None
        for step in rank["steps"]:
            for window in WINDOWS:
                budget = step[window]
                assert sum(budget[part] for part in PARTS) == budget["total_ns"] == budget["end"] - budget["begin"]
                assert sum(budget["idle_causes"].values()) == budget["idle_ns"]
                assert "unknown" not in budget["idle_causes"]
            if previous is not None:
                assert step["tile"]["begin"] == previous
            previous = step["tile"]["end"]


def test_kernel_sums_are_those_of_the_activities():
    (activities,), (rank,) = run(SimJob())
    assert sum(row["total_ns"] for row in rank["kernels"]) == sum(a.end - a.start for a in activities)
    assert sum(row["count"] for row in rank["kernels"]) == len(activities)
    assert rank["device_begin"] == min(a.start for a in activities)
    assert rank["device_end"] == max(a.end for a in activities)


def sweep(log, *activities):
    intervals = LabelledSpans(log, 0)
    for activity in activities:
        intervals.add(activity)
    intervals.finish(100)
    return split(intervals.intervals, 0, 100)


def test_a_gap_is_charged_to_what_the_host_did_and_then_to_the_launch():
    log = HostLog()
    log.add(10, DATA)
    log.add(100, OP)
    budget = sweep(log, Placed(20, 100, 0, 15, LATENCY))
    assert budget["idle_causes"] == {NAMES[DATA]: 10, NAMES[OP]: 5, NAMES[LAUNCH_LATENCY]: 5}
    assert budget["compute_ns"] == 80


def test_refilling_after_a_synchronisation_belongs_to_it():
    log = HostLog()
    log.add(50, SYNC)
    log.add(60, OP)
    log.add(70, ALLOC)
    log.add(80, OP)
    budget = sweep(log, Placed(0, 40, 0, 0, LATENCY), Placed(80, 100, 0, 80, LATENCY))
    assert budget["idle_causes"] == {NAMES[SYNC]: 10 + 10 + 10, NAMES[ALLOC]: 10}


def test_waiting_for_an_event_is_a_dependency():
    log = HostLog()
    log.add(100, OP)
    budget = sweep(log, Placed(0, 40, 2, 0, LATENCY), Placed(50, 100, 0, 10, BY_EVENT))
    assert budget["idle_causes"] == {NAMES[DEPENDENCY]: 10}
    assert budget["exposed_copy_ns"] == 40


def test_compute_hides_communication_and_both_hide_copies():
    log = HostLog()
    log.add(100, OP)
    budget = sweep(log, Placed(0, 50, 0, 0, LATENCY), Placed(30, 80, 1, 0, LATENCY), Placed(10, 100, 2, 0, LATENCY))
    assert [budget[part] for part in PARTS] == [50, 30, 20, 0]
    assert budget["comm_ns"] == 50
    assert budget["copy_ns"] == 90


def test_settling_in_stretches_changes_nothing():
    placed = [Placed(10 * i, 10 * i + 3 + i % 9, i % 3, 10 * i - 2, LATENCY) for i in range(1, 60)]
    log = HostLog()
    log.add(10_000, OP)
    whole, stepwise = LabelledSpans(log, 0), LabelledSpans(log, 0)
    for item in placed:
        whole.add(item)
        stepwise.add(item)
        stepwise.advance(item.start - 5)
    whole.finish(700)
    stepwise.finish(700)
    for window in ((0, 700), (13, 211), (350, 351)):
        assert split(whole.intervals, *window) == split(stepwise.intervals, *window)
    assert all(interval.label < IDLE + len(NAMES) for interval in whole.intervals)


BASES = {
    "pageable-copies": SimJob(model="convnet", hidden=16, image=128, batch=64),
    "unfused-optimizer": SimJob(layers=6),
    "exposed-comm": SimJob(hidden=1024, batch=2, ranks=2, bucket_bytes=4 << 20, link_bandwidth=20e9),
}


@pytest.mark.parametrize("fault", series(FAULTS.values(), 7), ids=lambda fault: fault.name)
def test_a_fault_slows_the_job_through_its_mechanism(fault):
    base = BASES.get(fault.name, SimJob(layers=4, steps=8, ranks=fault.ranks))

    def measured(job):
        _, truth = run(job)
        steps = [step["tile"] for rank in truth for step in rank["steps"]]
        grown = [sum(s["idle_causes"].get(part, s.get(part, 0)) for s in steps) for part in fault.raises]
        return sum(step["total_ns"] for step in steps), grown

    before, after = measured(base), measured(fault.apply(base))
    if not fault.raises:
        assert after == before
        return
    assert after[0] > before[0]
    assert any(new > old for old, new in zip(before[1], after[1], strict=True))
