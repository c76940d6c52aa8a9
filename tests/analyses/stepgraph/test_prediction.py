"""What changes save: one small trace per mechanism. Hidden time is worth nothing, exposed time everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepscope.analyses.stepgraph import Prediction, StepGraph
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import EVERY_HOST_EVENT, Change, Scaled
from stepscope.model.trace import Trace
from support import Facts

US = 1000


def ids(*events: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(events, np.int64)


def device(factor: float, *events: int) -> Change:
    return Change(device=(Scaled(ids(*events), factor),))


def host(factor: float, *events: int) -> Change:
    return Change(host=(Scaled(ids(*events), factor),))


def predict(trace: Trace, change: Change) -> Prediction:
    """A prediction, once the unchanged graph is found to reproduce every recorded time."""
    graph = StepGraph.of(trace)
    assert (graph.replay(Change()) == graph.built.graph.nodes.end).all()
    found = graph.predict(change)
    assert graph.predict(Change()).saved_ns == 0
    assert not found.residual  # none where no host is recorded
    assert found.saved_ns == found.base_ns - found.new_ns
    return found


def saved(trace: Trace, change: Change) -> int:
    return predict(trace, change).saved_ns


def work(f: Facts, ts: int, dur: int, launch: tuple[int, int] | None = None, **more: Any) -> int:
    """A compute kernel, times in µs; launched right before it unless stated."""
    call = launch or (ts - 12, 10)
    return f.kernel(
        f"kernel{ts}", ts * US, dur * US, launch=(call[0] * US, call[1] * US), **{"kind": "compute", **more}
    )


def waiting(f: Facts, ts: int, dur: int, name: str = "cudaDeviceSynchronize", **more: Any) -> int:
    return f.host("sync", name, ts * US, dur * US, **more)


def synchronous() -> tuple[Trace, dict[str, int]]:
    """The host launches for 100 µs, the device works for 800 µs, the host waits for it and goes on for 90 µs."""
    f = Facts()
    f.step(0, 0, 1000 * US)
    op = f.host("op", "aten::mm", 0, 100 * US)
    kernel = work(f, 102, 800, launch=(90, 10))
    sync = waiting(f, 100, 807)
    after = f.host("op", "aten::item", 907 * US, 93 * US)
    return f.trace(), {"op": op, "kernel": kernel, "sync": sync, "after": after}


def test_exposed_kernels_are_worth_what_they_lose() -> None:
    trace, event = synchronous()
    assert saved(trace, device(0.5, event["kernel"])) == 400 * US
    assert saved(trace, device(2.0, event["kernel"])) == -800 * US


def test_a_kernel_that_is_gone_leaves_the_call_that_waits() -> None:
    trace, event = synchronous()
    # The call ends 5 µs after the launch has come to the device, which takes 2 µs.
    assert predict(trace, device(0.0, event["kernel"])).new_ns == (102 + 5 + 93) * US


def test_host_work_on_both_sides_of_a_wait_counts() -> None:
    trace, event = synchronous()
    assert saved(trace, host(0.5, event["op"])) == 50 * US
    assert saved(trace, host(0.0, event["after"])) == 93 * US


def test_waits_are_not_scaled_but_follow_from_the_device() -> None:
    trace, event = synchronous()
    assert saved(trace, host(0.0, event["sync"])) == 0
    assert saved(trace, host(0.5, event["op"], event["sync"], event["after"])) == 50 * US + 93 * US // 2


def test_factors_multiply_where_several_cover_the_same_time() -> None:
    trace, event = synchronous()
    assert saved(trace, host(0.5, event["op"]) + host(0.5, event["op"])) == 75 * US


def test_changes_add_up() -> None:
    trace, event = synchronous()
    assert saved(trace, device(0.5, event["kernel"]) + host(0.5, event["op"])) == 450 * US


def test_events_of_other_steps_and_unknown_ones_are_passed_over() -> None:
    trace, _ = synchronous()
    assert saved(trace, device(0.0, 999) + host(0.0, 12345) + Change(unblocked=ids(77), overlapped=ids(78))) == 0


def test_all_that_the_host_does_has_a_name() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("op", "aten::add", 100 * US, 100 * US)
    assert saved(f.trace(), Change(host=(Scaled(EVERY_HOST_EVENT, 0.25),))) == 750 * US


def test_kernels_hidden_behind_the_host_are_worth_nothing() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    kernels = [work(f, 20 + 100 * i, 80, launch=(8 + 100 * i, 10)) for i in range(9)]
    trace = f.trace()
    assert saved(trace, device(0.5, *kernels)) == 0
    assert saved(trace, device(0.0, *kernels)) == 0
    # Three times as long, 2.16 ms with the gaps between them, they are no longer hidden.
    assert saved(trace, device(3.0, *kernels)) < -1000 * US


def test_the_host_is_worth_nothing_while_the_device_is_behind() -> None:
    f = Facts()
    f.step(0, 0, 100 * US)
    op = f.host("op", "aten::mm", 0, 90 * US)
    kernels = [work(f, 12 + 101 * i, 100, launch=(2 + 10 * i, 8)) for i in range(8)]
    trace = f.trace()
    assert saved(trace, host(0.5, op)) == 5 * US  # only what precedes the first launch's return
    assert saved(trace, device(0.5, *kernels)) == 400 * US


def two_streams(wait: bool) -> tuple[Trace, int, int, int]:
    """Compute and a collective side by side, then an optimizer that waits for both or not."""
    f = Facts()
    f.step(0, 0, 60 * US)
    compute = work(f, 20, 500, launch=(5, 10))
    f.host("runtime", "cudaEventRecord", 16 * US, US)
    f.host("runtime", "cudaStreamWaitEvent", 17 * US, US)
    comm = work(f, 530, 300, launch=(18, 10), stream="20", kind="comm")
    other = work(f, 521, 200, launch=(29, 10))
    if wait:
        f.host("runtime", "cudaStreamWaitEvent", 40 * US, US)
    last = work(f, 832 if wait else 722, 100, launch=(42, 10))
    return f.trace(), compute, comm, other if wait else last


def test_a_queue_waits_for_the_event_of_another_one() -> None:
    trace, compute, comm, other = two_streams(wait=True)
    assert saved(trace, device(0.5, comm)) == 110 * US  # until `other` is in the way
    assert saved(trace, device(0.0, other)) == 0
    assert saved(trace, device(0.5, compute)) == 250 * US


def test_what_nobody_waits_for_matters_only_at_the_end_of_the_step() -> None:
    trace, compute, comm, last = two_streams(wait=False)
    assert predict(trace, Change()).base_ns == 830 * US
    assert saved(trace, device(0.0, last)) == 0
    assert saved(trace, device(0.5, comm)) == 8 * US  # 822 µs: the end of the last kernel
    assert saved(trace, device(0.5, compute)) == 250 * US


def test_overlapped_communication_lets_others_pass() -> None:
    trace, _, comm, _ = two_streams(wait=True)
    # The optimizer starts after the kernel before it; the step ends when the collective does.
    assert predict(trace, Change(overlapped=ids(comm))).new_ns == 830 * US


def test_overlapped_copies_still_take_their_time_one_after_the_other() -> None:
    f = Facts()
    f.step(0, 0, 50 * US)
    copies = [work(f, 12 + 310 * i, 200, launch=(2 + 20 * i, 5), kind="copy") for i in range(3)]
    for i in range(3):
        work(f, 212 + 310 * i, 100, launch=(12 + 20 * i, 5))
    assert predict(f.trace(), Change(overlapped=ids(*copies))).new_ns >= 600 * US


def test_an_unblocked_call_takes_its_own_time_and_the_host_runs_ahead() -> None:
    f = Facts()
    f.step(0, 0, 700 * US)
    kernels = []
    syncs = []
    for i in range(3):
        kernels.append(work(f, 200 * i + 62, 100, launch=(200 * i + 50, 10)))
        syncs.append(waiting(f, 200 * i + 60, 107))
    f.host("op", "aten::tail", 667 * US, 33 * US)
    trace = f.trace()
    found = predict(trace, Change(unblocked=ids(*syncs)))
    # Without waiting (2 µs a call), launches follow every 95 µs; the host needs 132 µs after the last.
    assert found.new_ns == 700 * US - 3 * 105 * US
    assert saved(trace, Change(unblocked=ids(syncs[2]))) == 105 * US


def test_an_operator_that_reads_a_number_waits_where_calls_of_the_runtime_are_not_recorded() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    kernel = work(f, 102, 800, launch=(90, 10))
    read = f.host("op", "aten::_local_scalar_dense", 200 * US, 710 * US)
    f.host("op", "aten::add", 910 * US, 90 * US)
    trace = f.trace()
    assert saved(trace, device(0.5, kernel)) == 400 * US
    assert saved(trace, host(0.5, read)) == 0


def test_copies_that_block_the_host_can_be_let_go() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    copy = work(f, 15, 300, launch=(5, 315), kind="copy")
    f.row("copies", event=copy, direction="HtoD", bytes=1, src_kind="pageable", dst_kind="device")
    for i in range(5):
        work(f, 400 + 100 * i, 10, launch=(390 + 100 * i, 6))
    trace = f.trace()
    call = int(trace.scalar("SELECT launch FROM kernels WHERE kind = 'copy'"))
    assert saved(trace, device(0.5, copy)) == 150 * US
    assert saved(trace, Change(unblocked=ids(call))) == (315 - 6) * US


def test_a_full_queue_blocks_its_launches() -> None:
    f = Facts()
    f.step(0, 0, 2100 * US)
    # Four launches fit: each further call returns when the kernel four before it has ended.
    ends = [6 + 2 + 100 * (i + 1) for i in range(20)]
    returned = [6 * (i + 1) for i in range(4)]
    for i in range(4, 20):
        returned.append(max(returned[-1] + 6, ends[i - 4]))
    kernels = [
        work(f, ends[i] - 100, 100, launch=((returned[i - 1] if i else 0), returned[i] - (returned[i - 1] if i else 0)))
        for i in range(20)
    ]
    trace = f.trace()
    graph = StepGraph.of(trace)
    # The step ends on the host, 492 µs after the last launch returned: with kernels twice as fast that comes earlier.
    assert returned[-1] == 1608
    halved = graph.predict(device(0.5, *kernels))
    assert halved.saved_ns == 800 * US


def test_slow_launches_to_an_empty_queue_wait_for_nothing_in_it() -> None:
    f = Facts()
    f.step(0, 0, 2000 * US)
    # Six calls take 100 µs for reasons of their own, the others 5; each kernel is done before the next call returns.
    took = [100 if 3 <= i < 9 else 5 for i in range(12)]
    ends = [150 * i + (200 if 2 <= i < 8 else 140) for i in range(12)]
    kernels = [
        work(f, 150 * i + took[i] + 2, ends[i] - 150 * i - took[i] - 2, launch=(150 * i, took[i])) for i in range(12)
    ]
    assert saved(f.trace(), device(0.5, *kernels)) == 0


def test_a_queue_that_also_holds_events_blocks_launches_a_little_earlier() -> None:
    f = Facts()
    holds, count = 200, 600
    f.step(0, 0, 100 * US * (count + 1))
    ends = [8 + 100 * (i + 1) for i in range(count)]
    returned = [6 * (i + 1) for i in range(holds)]
    for i in range(holds, count):
        returned.append(max(returned[-1] + 6, ends[i - holds + i % 3]))  # up to two events in the queue
    calls = [(before, after - before) for before, after in zip([0, *returned[:-1]], returned, strict=True)]
    kernels = [work(f, ends[i] - 100, 100, launch=calls[i]) for i in range(count)]
    # All but the wait for the last 200 kernels goes away: the host was blocked by the rest of them.
    assert saved(f.trace(), device(0.5, *kernels)) == pytest.approx(50 * US * (count - holds), rel=0.01)


def backward(f: Facts) -> tuple[int, int]:
    """Main thread, then a thread of its own for the backward pass, then the main thread again."""
    f.step(0, 0, 1000 * US)
    outer = f.host("annotation", "backward", 200 * US, 600 * US)
    f.host("op", "aten::forward", 0, 200 * US)
    op = f.host("op", "MmBackward", 220 * US, 500 * US, thread="2")
    f.host("op", "aten::optimizer", 780 * US, 220 * US)
    return outer, op


def test_the_main_thread_waits_for_the_backward_pass() -> None:
    f = Facts()
    outer, op = backward(f)
    trace = f.trace()
    assert saved(trace, host(0.5, op)) == 250 * US
    # The annotation covers what is done on its behalf: from its start to that of the optimizer, and 20 µs of that.
    assert saved(trace, host(0.5, outer)) == 300 * US


def test_a_thread_that_works_at_the_same_time_is_left_alone() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    for i in range(10):
        f.host("op", "aten::main", 100 * i * US, 60 * US)
        f.host("op", "aten::other", (100 * i + 30) * US, 60 * US, thread="2")
    trace = f.trace()
    assert StepGraph.of(trace).built.threads.handoffs.source.size == 0
    other = [i for i in range(1, 21) if i % 2 == 0]
    assert saved(trace, host(0.0, *other)) == 0


def fetched(name: str = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") -> tuple[Trace, list[int]]:
    """Four steps of 10 ms, of which the host waits 8 ms for data and works 2 ms."""
    f = Facts()
    loads = []
    for i in range(4):
        f.step(i, 10_000 * i * US, 10_000 * US)
        loads.append(f.host("dataloader", name, 10_000 * i * US, 8_000 * US))
        f.host("op", "aten::work", (10_000 * i + 8_000) * US, 2_000 * US)
    return f.trace(), loads


def test_workers_set_the_pace_of_a_job_that_waits_for_them() -> None:
    trace, loads = fetched()
    works = [event for event in range(12) if event not in loads and event % 3 == 2]
    # Half the work: batches come every 10 ms as before, and only the last step ends earlier.
    assert predict(trace, host(0.5, *works)).new_ns == (40_000 - 1_000) * US // 4
    assert predict(trace, host(0.0, *loads)).new_ns == 2_000 * US
    assert predict(trace, host(0.5, *loads)).new_ns == pytest.approx(5_000 * US, rel=0.1)


def test_a_loader_on_the_main_thread_is_host_time() -> None:
    trace, loads = fetched("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    works = [event for event in range(12) if event not in loads and event % 3 == 2]
    assert predict(trace, host(0.5, *works)).new_ns == 9_000 * US
    assert predict(trace, host(0.5, *loads)).new_ns == 6_000 * US


def test_a_loader_that_keeps_up_is_host_time_too() -> None:
    f = Facts()
    loads = []
    for i in range(4):
        f.step(i, 10_000 * i * US, 10_000 * US)
        loads.append(f.host("dataloader", "enumerate(DataLoader)#_Multi", 10_000 * i * US, (100 + 20 * i) * US))
    assert saved(f.trace(), host(0.0, *loads)) == (100 + 120 + 140 + 160) * US // 4


def collectives(second: int = 400) -> tuple[Trace, list[int], list[int]]:
    """Compute and collective by turns; the second collective took longer than the others, of the same size."""
    f = Facts()
    f.step(0, 0, 30 * US)
    compute, comm, now = [], [], 12
    for i, took in enumerate((100, second, 100)):
        compute.append(work(f, now, 200, launch=(10 * i, 4)))
        comm.append(work(f, now + 201, took, launch=(10 * i + 5, 4), kind="comm"))
        f.row("collectives", event=comm[-1], group="0", collective="all_reduce", bytes=1 << 20)
        now += 202 + took
    return f.trace(), compute, comm


def test_waiting_for_other_ranks_is_told_from_moving_data() -> None:
    trace, _, comm = collectives()
    assert saved(trace, device(0.5, comm[1])) == 200 * US
    assert saved(trace, device(0.25, comm[1])) == 300 * US
    assert saved(trace, Change(unblocked=ids(comm[1]))) == 300 * US
    assert saved(trace, device(0.0, comm[1])) == 401 * US


def test_a_collective_that_waits_no_more_and_is_scaled_takes_that_part_of_its_length_and_not_less() -> None:
    trace, _, comm = collectives()
    alone = Change(unblocked=ids(comm[1]))
    assert saved(trace, alone + device(0.25, comm[1])) == 300 * US
    assert saved(trace, alone + device(0.5, comm[1])) == 200 * US


def test_others_come_to_a_collective_earlier_in_proportion_to_how_much_earlier_this_rank_does() -> None:
    trace, compute, _ = collectives(250)
    found = predict(trace, device(0.5, compute[1]))
    assert found.saved_ns == pytest.approx(175 * US, abs=2 * US)
    assert found.removed_ns == 100 * US  # the rest is what the others lose


def test_others_that_are_late_by_more_than_the_time_since_the_last_collective_have_another_cause() -> None:
    trace, compute, _ = collectives(400)
    assert saved(trace, device(0.5, compute[1])) == 100 * US


def test_a_removed_kernel_takes_the_gap_before_it_along() -> None:
    f = Facts()
    f.step(0, 0, 50 * US)
    kernels = [work(f, 12 + 101 * i, 100, launch=(2 + 6 * i, 5)) for i in range(6)]
    assert saved(f.trace(), device(0.0, kernels[3])) == 101 * US


def test_kernels_that_let_their_successors_in_early_keep_that_lead() -> None:
    f = Facts()
    f.step(0, 0, 50 * US)
    kernels = [work(f, 12 + 90 * i, 100, launch=(2 + 6 * i, 5)) for i in range(6)]
    assert saved(f.trace(), device(0.5, *kernels)) == 6 * 50 * US


def test_a_call_may_seem_to_return_before_the_device_is_done() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    kernel = work(f, 102, 800, launch=(90, 10))
    waiting(f, 100, 798)  # ends 4 µs before the kernel, by the host's clock
    assert saved(f.trace(), device(0.5, kernel)) == 400 * US


@pytest.mark.parametrize("late", [1, 74, 1_000])
def test_a_wait_may_seem_to_outlive_its_step(late: int) -> None:
    f = Facts()
    kernels = []
    for start in (0, 1000):
        f.step(start // 1000, start * US, 1000 * US)
        kernels.append(work(f, start + 60, 930, launch=(start + 50, 5)))
        f.host("sync", "cudaStreamSynchronize", (start + 60) * US, 940 * US + late)
    assert saved(f.trace(), device(0.5, *kernels)) == pytest.approx(465 * US, abs=US)


def test_what_starts_while_the_host_waits_was_launched_before() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    first = f.kernel("old", 10 * US, 400 * US, kind="compute")
    second = f.kernel("older", 411 * US, 400 * US, kind="compute")
    waiting(f, 0, 816)
    assert saved(f.trace(), device(0.5, first, second)) == 400 * US


def test_a_recording_of_the_device_alone() -> None:
    f = Facts()
    kernels = [f.kernel("k", 101 * i * US, 100 * US, kind="compute") for i in range(5)]
    assert saved(f.trace(), device(0.5, *kernels)) == 250 * US


def test_a_recording_of_the_host_alone() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op = f.host("op", "aten::mm", 100 * US, 600 * US)
    assert saved(f.trace(), host(0.5, op)) == 300 * US


def test_without_anything_there_is_no_graph() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 0)
    with pytest.raises(MissingInputError, match="no steps"):
        StepGraph.of(f.trace())


def test_a_graph_is_built_once() -> None:
    trace, _ = synchronous()
    assert StepGraph.of(trace) is StepGraph.of(trace)


def test_a_graph_that_fills_the_queue_blocks_the_launches_behind_it() -> None:
    f = Facts()
    now = 0
    kernels: list[int] = []
    for step in range(4):
        start = now
        correlation = f.correlation()
        f.host("launch", "cudaGraphLaunch", now * US, 5 * US, correlation=correlation)
        ts = now + 7
        for _ in range(10):
            kernels.append(f.kernel("node", ts * US, 100 * US, launch=correlation, kind="compute"))
            ts += 100
        # Two entries fit: the second launch after the graph returns when the graph has ended.
        kernels.append(work(f, ts + 1, 10, launch=(now + 5, 5)))
        kernels.append(work(f, ts + 12, 10, launch=(now + 10, ts - now - 10)))
        now = ts + 40
        waiting(f, ts, 27)
        f.step(step, start * US, (now - start) * US)
    assert saved(f.trace(), device(0.5, *kernels)) == 510 * US


@pytest.mark.parametrize(("mebibytes", "expected"), [(3, 720), (40, 520)])
@pytest.mark.parametrize("launching", ["1", "2"])
def test_a_single_reduction_at_the_end_could_be_divided_into_buckets(
    mebibytes: int, expected: int, launching: str
) -> None:
    """Whether the backward pass launches its kernels itself, or leaves that to another thread."""
    f = Facts()
    f.step(0, 0, 60 * US)
    f.host("op", "autograd::engine::evaluate_function: MmBackward0", 1 * US, 30 * US)
    for i in range(4):  # 400 µs of backward
        f.host("op", "aten::mm", (2 + 5 * i) * US, 3 * US, external_id=i + 1)
        work(f, 20 + 100 * i, 100, launch=(2 + 5 * i, 3), thread=launching, external_id=i + 1)
    reduction = work(f, 421, 300, launch=(35, 5), kind="comm", stream="20")
    f.row("collectives", event=reduction, group="0", collective="all_reduce", bytes=mebibytes << 20)
    new = predict(f.trace(), Change(overlapped=ids(reduction))).new_ns
    # Its last bucket takes 30 µs after the last gradient, so that it begins after the second of the four kernels.
    assert new == pytest.approx(expected * US, abs=5 * US)


def test_a_step_that_sums_tell_of_is_no_host() -> None:
    f = Facts()
    f.step(0, 0, 900 * US)
    f.kernel("k", 0, 100 * US, kind="compute")
    sent = f.kernel("send", 100 * US, 600 * US, kind="comm", stream="20")
    f.kernel("k", 750 * US, 100 * US, kind="compute")
    assert saved(f.trace(), device(0.0, sent)) == 600 * US


def test_a_wait_for_what_is_done_already_still_comes_after_it() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    kernel = work(f, 20, 60, launch=(5, 10))
    waiting(f, 100, 5)
    f.host("op", "aten::item", 105 * US, 895 * US)
    # Twice as long it ends 40 µs after the host came to wait for it.
    assert saved(f.trace(), device(2.0, kernel)) == pytest.approx(-40 * US, abs=5 * US)
