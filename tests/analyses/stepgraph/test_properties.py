"""Whatever a recording holds, the unchanged graph reproduces it, and changes never do the opposite of what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from series import rounds
from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.changing.effects import scaled
from stepscope.analyses.stepgraph.critical_path import critical_path
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import EVERY_HOST_EVENT, Change, Scaled
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace
from support import Facts

TIMES = st.integers(0, 2_000) | st.integers(0, 200_000)
HOST = st.tuples(
    st.sampled_from(
        [
            ("op", "aten::mm"),
            ("op", "MmBackward0"),
            ("annotation", "forward"),
            ("sync", "cudaDeviceSynchronize"),
            ("sync", "cudaStreamSynchronize"),
            ("sync", "cudaEventSynchronize"),
            ("runtime", "cudaStreamWaitEvent"),
            ("runtime", "cudaEventRecord"),
            ("runtime", "cudaMalloc"),
            ("gc", "Python GC"),
            ("dataloader", "enumerate(DataLoader)"),
            ("overhead", "Activity Buffer Request"),
        ]
    ),
    TIMES,
    TIMES | st.none(),
    st.sampled_from("12"),
)
KERNELS = st.tuples(
    st.sampled_from(["compute", "comm", "copy", "set", "sync"]),
    TIMES,
    TIMES,
    st.sampled_from(["7", "20"]),
    st.tuples(TIMES, TIMES) | st.none(),
    st.sampled_from("12"),
)
STEPS = st.lists(TIMES, max_size=4)


def recording(host: list[Any], kernels: list[Any], steps: list[int]) -> Trace:
    f = Facts()
    for number, (lo, hi) in enumerate(zip(sorted(steps)[:-1], sorted(steps)[1:], strict=True)):
        f.step(number, lo, hi - lo)
    for (category, name), ts, dur, thread in host:
        f.host(category, name, ts, dur, thread=thread)
    for kind, ts, dur, stream, launch, thread in kernels:
        event = f.kernel(f"{kind}{ts}", ts, dur, launch=launch, thread=thread, stream=stream, kind=kind)
        if kind == "comm":
            f.row("collectives", event=event, group="0", collective="all_reduce", bytes=ts)
        if kind == "copy":
            f.row("copies", event=event, direction="HtoD", bytes=1, src_kind="pageable", dst_kind="device")
    return f.trace()


@settings(max_examples=rounds(100, 4), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(HOST, max_size=12), st.lists(KERNELS, max_size=10), STEPS)
# Work of before the recording is in the way of every step; of all but the last one.
@example([], [("compute", 1_020, 754, "7", None, "2"), ("comm", 1_138, 821, "7", (813, 84), "2")], [41, 92, 536, 747])
@example(
    [(("op", "aten::mm"), 148, 137, "1")],
    [("comm", 1_066, 314, "7", (670, 95), "2"), ("comm", 1_009, 103, "7", None, "1")],
    [92, 588, 667],
)
@example([], [("compute", 0, 700, "7", None, "1"), ("compute", 750, 50, "7", (600, 10), "1")], [0, 300, 600, 900])
# A step that work of a step before it covers wholly, and the next one in part.
@example(
    [],
    [
        ("compute", 0, 0, "7", None, "1"),
        ("compute", 0, 0, "7", None, "1"),
        ("compute", 0, 0, "7", (2, 0), "1"),
        ("compute", 0, 0, "7", None, "1"),
        ("compute", 0, 3, "7", None, "1"),
    ],
    [0, 1, 2, 4],
)
# Steps without a host's events, which end after their last activity, or have none.
@example([], [("compute", 0, 1, "7", None, "1")], [0, 2, 4, 6])
@example([], [("compute", 3, 1, "7", None, "1")], [0, 2, 5, 6])
def test_any_recording(host: list[Any], kernels: list[Any], steps: list[int]) -> None:
    trace = recording(host, kernels, steps)
    try:
        graph = StepGraph.of(trace)
    except MissingInputError:
        return
    nodes = graph.built.graph.nodes
    assert (graph.replay(Change()) == nodes.end).all()
    base = graph.predict(Change())
    assert base.saved_ns == 0
    assert base.residual == (0 if graph.built.threads.main >= 0 else None)
    activities, calls, selection = graph.built.activities.event, graph.built.calls.id, graph.built.selection
    for factor in (0.0, 0.5, 2.0):
        for change in (
            Change(device=(Scaled(activities, factor),)),
            Change(host=(Scaled(EVERY_HOST_EVENT, factor),)),
            Change(host=(Scaled(calls, factor),)),
        ):
            saved = graph.predict(change).saved_ns
            # A step before the counted ones may leave them more or less time than it did, and a recording that counts
            # as one step begins with its first activity, whose launch moves too.
            assert saved == 0 or (saved > 0) == (factor < 1) or selection.lead or selection.whole
    assert graph.predict(Change(unblocked=calls)).saved_ns >= 0 or selection.whole
    assert graph.predict(Change(overlapped=activities)).new_ns >= 0
    rows = [row for row in critical_path(trace).records() if row["step"] is None]
    assert sum(row["total_ns"] for row in rows) == graph.built.selection.recorded_ns


INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=5)


@given(INTERVALS, st.lists(st.tuples(INTERVALS, st.sampled_from([0.0, 0.5, 3.0])), max_size=3))
def test_scaled_time_is_the_sum_over_instants(stretches: list[Any], factors: list[Any]) -> None:
    starts = np.array([start for start, _ in stretches], np.int64)
    ends = starts + np.array([length for _, length in stretches], np.int64)
    covers = [
        (Intervals.union_of([a for a, _ in covered], [a + b for a, b in covered]), factor)
        for covered, factor in factors
    ]
    found = scaled(starts, ends, covers)
    instants = np.arange(200)
    weight = np.ones(instants.size)
    for covered, factor in covers:
        weight[covered.at(instants)] *= factor
    expected = [weight[lo:hi].sum() for lo, hi in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert np.abs(found - np.array(expected)).max(initial=0) <= 0.5
