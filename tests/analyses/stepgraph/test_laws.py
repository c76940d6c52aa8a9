"""Laws that hold of prices whatever is recorded: on random simulated jobs, and on every recording that is at hand.

`STEPSCOPE_LAWS=1000` asks so many jobs, and recordings of any size; by default few of both.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from series import rounds, series
from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.building.nodes import DEVICE, NODE
from stepscope.analyses.stepgraph.critical_path import critical_path
from stepscope.analyses.stepgraph.path import critical_segments
from stepscope.analyses.stepgraph.whatif.changes import change_of
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.events.change import Change, Scaled
from stepscope.model.trace import Trace
from stepscope.rules.engine import diagnose
from stepscope.simulate import random_job, simulate
from support import Facts, recorded_trace, shared_traces

_JOBS = int(os.environ.get("STEPSCOPE_LAWS", "6"))
_LARGEST = 700_000 if _JOBS < 100 else 1 << 62
_SUBJECTS = ("data_wait", "sync", "host", "launch", "allocation", "gc", "profiler", "kernel", "copy", "comm")
#: So much of the critical path is almost all of it.
_ALMOST_ALL = 0.92


def no_removal_lengthens_the_step(trace: Trace) -> None:
    graph = StepGraph.of(trace)
    for option, subjects in (("remove", _SUBJECTS), ("overlap", ("comm", "copy"))):
        for subject in subjects:
            try:
                change = change_of(trace, **{option: [subject]})
            except UserError:  # the recording has none of these
                continue
            found = graph.predict(change)
            assert 0 <= found.saved_ns <= found.base_ns, (option, subject)
            assert 0 <= found.removed_ns <= found.base_ns, (option, subject)


def what_is_almost_all_is_worth_something(trace: Trace) -> None:
    """Where activities are almost all of the critical path, the step gets shorter without them."""
    graph = StepGraph.of(trace)
    built = graph.built
    segments = critical_segments(built)
    length = segments.ends - segments.starts
    own = (segments.kind == NODE) & (built.graph.nodes.kind[segments.node] == DEVICE)
    on_path = np.bincount(segments.node[own], length[own], built.graph.nodes.end.size)
    if on_path.sum() >= _ALMOST_ALL * length.sum():
        activities = built.activities.event[on_path[built.device] > 0]
        assert graph.predict(Change(device=(Scaled(activities, 0.0),))).saved_ns > 0


def prices_are_possible(trace: Trace) -> None:
    found = diagnose(trace)
    for finding in found.findings:
        if finding.cost_ns is not None and found.step_ns:
            assert 0 <= finding.cost_ns <= found.step_ns, finding.code
            assert finding.alone_ns is None or finding.alone_ns >= finding.cost_ns
    if len(trace.ranks) == 1 and found.step_ns:
        priced = [finding.cost_ns for finding in found.shown if finding.cost_ns is not None]
        assert sum(priced) <= found.step_ns


def check(trace: Trace) -> None:
    """All laws, of one rank."""
    try:
        StepGraph.of(trace)
    except MissingInputError:
        return
    no_removal_lengthens_the_step(trace)
    what_is_almost_all_is_worth_something(trace)
    assert sum(row["total_ns"] for row in critical_path(trace).records()) > 0
    prices_are_possible(trace)


def recordings() -> list[str]:
    """Every file and folder of the shared traces that holds a recording with a timeline."""
    folder = shared_traces()
    if folder is None:
        return []
    found = [*folder.glob("kineto/*/*"), *folder.glob("cases/kineto*/*"), *folder.glob("cases/kineto/*/*")]
    found += [*folder.glob("nsys/*.sqlite"), *folder.glob("cases/nsys/*.sqlite")]
    found += [*folder.glob("ascend/*/rank*"), *folder.glob("cases/ascend/*"), *folder.glob("ascend/mstt*/*")]
    kept = [path for path in found if path.suffix in (".gz", ".json", ".sqlite") or path.is_dir()]
    sizes = {path: sum(f.stat().st_size for f in [path, *path.rglob("*")] if f.is_file()) for path in kept}
    return sorted(str(path.relative_to(folder)) for path, size in sizes.items() if size < _LARGEST)


@pytest.mark.parametrize("name", series(recordings() or ["none"], 4))
def test_real_recordings(name: str) -> None:
    try:
        trace = recorded_trace(name)
    except UserError:
        pytest.skip("no recording")
    with trace:
        check(trace.rank(trace.ranks[0]))


@pytest.mark.parametrize("seed", series(range(_JOBS), 2))
def test_simulated_jobs(seed: int, tmp_path: Path) -> None:
    job = random_job(10_000 + seed)
    out = tmp_path / ("job" if job.ranks > 1 else "t.json")
    simulate(job, out)
    with open_trace(out, Options(cache=False)) as trace:
        check(trace.rank(trace.ranks[0]))


US = 1_000
WORK = st.lists(st.tuples(st.sampled_from(["compute", "copy", "set"]), st.integers(20, 400)), min_size=2, max_size=12)


@settings(max_examples=rounds(20, 3), deadline=None)
@given(WORK, st.booleans())
def test_what_is_strictly_serial_is_worth_its_sum(work: list[tuple[str, int]], recorded: bool) -> None:
    """One after another on one queue, launched well ahead, or by a host that is not recorded."""
    f, at = Facts(), 100 * US
    if recorded:
        f.step(0, 0, 90 * US)
    events = []
    for number, (kind, long) in enumerate(work):
        launch = (number * US, 500) if recorded else None
        events.append(f.kernel(kind, at, long * US, launch=launch, kind=kind))
        at += long * US + 800
    graph = StepGraph.of(f.trace())
    for kind in {kind for kind, _ in work[1:-1]}:
        # What begins and ends the recording decides how much of it counts.
        chosen = [event for event, (other, _) in zip(events[1:-1], work[1:-1], strict=True) if other == kind]
        total = sum(long for other, long in work[1:-1] if other == kind) * US
        saved = graph.predict(Change(device=(Scaled(np.array(chosen), 0.0),))).saved_ns
        assert total <= saved <= total + 2 * US * len(chosen)  # with the gaps before them


@settings(max_examples=rounds(20, 3), deadline=None)
@given(st.lists(st.tuples(st.integers(20, 300), st.integers(2_000, 20_000)), min_size=4, max_size=12))
def test_what_the_host_waits_for_in_turn_is_worth_its_sum(rounds: list[tuple[int, int]]) -> None:
    """Copies from pageable memory, whose calls return a little before they end, and a kernel after each."""
    f, at = Facts(), 10 * US
    copies, kernels = [], []
    for kernel, copy in rounds:
        copies.append(f.kernel("Memcpy", at + 30 * US, copy * US, kind="copy", launch=(at, (copy + 24) * US)))
        f.row("copies", event=copies[-1], direction="HtoD", bytes=copy << 12, src_kind="pageable", dst_kind="device")
        at += (copy + 40) * US
        kernels.append(f.kernel("k", at, kernel * US, launch=(at - 10 * US, 5 * US)))
        f.host("sync", "cudaStreamSynchronize", at - 4 * US, (kernel + 8) * US)
        at += (kernel + 10) * US
    # Otherwise each round is a step of its own.
    f.step(0, 0, at)
    graph = StepGraph.of(f.trace())
    for events, lengths in ((copies, [copy for _, copy in rounds]), (kernels, [kernel for kernel, _ in rounds])):
        saved = graph.predict(Change(device=(Scaled(np.array(events[1:-1]), 0.0),))).saved_ns
        assert abs(saved - sum(lengths[1:-1]) * US) <= 40 * US * len(events)
