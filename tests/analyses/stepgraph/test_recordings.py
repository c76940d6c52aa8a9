"""The unchanged graph reproduces recordings to the nanosecond, and its critical path adds up to their steps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from series import series
from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.critical_path import critical_path
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.ingest import Options, open_trace
from stepscope.model.events.change import EVERY_HOST_EVENT, Change, Scaled
from stepscope.model.trace import Trace
from stepscope.simulate import random_job, simulate
from support import recorded_trace, shared_traces

#: Recordings too large for a unit test are left to the benchmark.
_LARGEST = 2_000_000


def recordings() -> list[str]:
    """One rank of each."""
    folder = shared_traces()
    if folder is None:
        return []
    found = [min(job.glob("*.json.gz"), default=job) for job in (folder / "kineto").iterdir()]
    found += [min(job.glob("rank*"), default=job) for job in (folder / "ascend").glob("[am]*_*")]
    found += (folder / "nsys").glob("*.sqlite")
    sizes = {path: sum(f.stat().st_size for f in [path, *path.rglob("*")] if f.is_file()) for path in found}
    return sorted(str(path.relative_to(folder)) for path, size in sizes.items() if size < _LARGEST)


def check(trace: Trace) -> None:
    """What holds for every recording of one rank."""
    graph = StepGraph.of(trace)
    assert (graph.replay(Change()) == graph.built.graph.nodes.end).all()
    unchanged = graph.predict(Change())
    assert unchanged.saved_ns == 0
    assert unchanged.residual is None or unchanged.residual <= 0.01
    assert unchanged.base_ns > 0
    kernels = Change(device=(Scaled(graph.built.activities.event, 0.5),))
    host = Change(host=(Scaled(EVERY_HOST_EVENT, 0.5),))
    for change in (kernels, host, kernels + host):
        assert 0 <= graph.predict(change).saved_ns <= unchanged.base_ns
    assert graph.predict(Change(device=(Scaled(graph.built.activities.event, 2.0),))).saved_ns <= 0
    path_adds_up(trace, set(unchanged.steps))


def path_adds_up(trace: Trace, steps: set[int]) -> None:
    rows = critical_path(trace).records()
    sums: Counter[int | None] = Counter()
    for row in rows:
        assert row["total_ns"] > 0
        sums[row["step"]] += row["total_ns"]
    graph = StepGraph.of(trace)
    selection = graph.built.selection
    expected = dict(zip(selection.step.tolist(), selection.window_ns.tolist(), strict=True))
    assert sums.pop(None) == sum(expected[step] for step in steps)
    assert dict(sums) == {step: expected[step] for step in steps if expected[step]}
    if graph.built.activities.ts.size:
        budget = {row["step"]: row["total_ns"] for row in step_budget(trace).records()}
        assert {step: budget[step] for step in sums} == dict(sums)


@pytest.mark.parametrize("name", series(recordings() or ["none"], 5))
def test_real_recordings(name: str) -> None:
    with recorded_trace(name) as trace:
        check(trace.rank(trace.ranks[0]))


@pytest.mark.parametrize("seed", series(range(16), 3))
def test_simulated_recordings(seed: int, tmp_path: Path) -> None:
    job = random_job(seed)
    out = tmp_path / ("job" if job.ranks > 1 else "t.json")
    simulate(job, out)
    with open_trace(out, Options(cache=False)) as trace:
        check(trace.rank(trace.ranks[-1]))


def test_the_table_names_what_the_step_waited_for() -> None:
    with recorded_trace("kineto", "v100_resnet50_workers0", "trace.json.gz") as trace:
        rows = [row for row in critical_path(trace).records() if row["step"] is None]
    shares = {(row["part"], row["detail"]): row["share"] for row in rows}
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["data", None] == max(shares.values())
