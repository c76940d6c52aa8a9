"""One definition of a wait for the device: what the table counts is what the rules' signals count."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analyses.registry import analyses
from stepscope.analyses.shared.host_waits import blocking_copies, held_up
from stepscope.signals import Signals
from stepscope.signals.host.synchronisation import DEVICE, SCALAR, STREAM, calls
from support import Facts

US = 1_000


def job(steps: int = 4) -> Facts:
    """Each step launches a kernel and waits for it in three ways, and for the copy of a large result."""
    facts = Facts()
    for step in range(steps):
        ts = step * 1000 * US
        facts.step(step, ts, 1000 * US)
        facts.host("launch", "cudaLaunchKernel", ts + 10 * US, 5 * US, correlation=10 * step + 1)
        facts.kernel("k", ts + 20 * US, 200 * US, launch=10 * step + 1)
        # A driver that waits inside the runtime's call, with a call of its own between, is the same wait.
        facts.host("sync", "cudaDeviceSynchronize", ts + 30 * US, 200 * US)
        facts.host("runtime", "cuCtxGetCurrent", ts + 35 * US, 190 * US)
        facts.host("sync", "cuCtxSynchronize", ts + 40 * US, 180 * US)
        facts.host("sync", "cudaStreamSynchronize", ts + 300 * US, 10 * US)
        # The profiler waits for itself.
        facts.host("overhead", "Activity Buffer Request", ts + 400 * US, 100 * US)
        facts.host("sync", "cudaDeviceSynchronize", ts + 410 * US, 50 * US)
    facts.host("sync", "cudaDeviceSynchronize", steps * 1000 * US + 10 * US, 50 * US)
    return facts


def copy(facts: Facts, ts: int, dur: int, size: int, *, launch: int) -> None:
    """A copy to the host."""
    event = facts.kernel("Memcpy DtoH", ts, dur, launch=launch, kind="copy")
    facts.row("copies", event=event, direction="DtoH", bytes=size, src_kind="device", dst_kind="pageable")


def test_the_table_counts_what_the_signals_count() -> None:
    trace = job().trace()
    rows = {row["name"]: row["count"] for row in analyses()["synchronisations"].run(trace).records()}
    # One more after the last step, which the signals leave out.
    assert rows == {"cudaDeviceSynchronize": 5, "cudaStreamSynchronize": 4}
    found = Signals.of(trace)(calls)
    assert (found.of(DEVICE).events.size, found.of(STREAM).events.size) == (4, 4)
    assert found.events.size == sum(rows.values()) - 1


def test_a_wait_inside_a_copying_call_is_the_copys() -> None:
    facts = job(2)
    for step in range(2):
        ts = step * 1000 * US + 600 * US
        facts.host("launch", "cudaMemcpy", ts, 100 * US, correlation=10 * step + 2)
        facts.host("sync", "cuStreamSynchronize", ts + 10 * US, 80 * US)
        copy(facts, ts + 20 * US, 60 * US, 1 << 20, launch=10 * step + 2)
    trace = facts.trace()
    rows = {row["name"]: (row["kind"], row["count"]) for row in analyses()["synchronisations"].run(trace).records()}
    assert rows["cudaMemcpy"] == ("copy", 2)
    assert "cuStreamSynchronize" not in rows
    found = Signals.of(trace)(calls)
    assert found.of(STREAM, DEVICE).events.size == 4  # those of `job`: two a step
    assert not found.of(SCALAR).events.size


@pytest.mark.parametrize("size", [8, 16])
def test_a_copy_of_a_number_is_in_both(size: int) -> None:
    facts = job(1)
    facts.host("launch", "cudaMemcpy", 600 * US, 100 * US, correlation=2)
    copy(facts, 610 * US, 80 * US, size, launch=2)
    trace = facts.trace()
    assert Signals.of(trace)(calls).of(SCALAR).events.size == 1
    [row] = [one for one in analyses()["synchronisations"].run(trace).records() if one["kind"] == "copy"]
    assert row["count"] == 1


@pytest.mark.parametrize(
    ("returned", "held"),
    [
        (100, False),  # as the copy begins
        (104, False),
        (105, True),  # half of it later
        (110, True),
        (120, True),
    ],
)
def test_a_call_that_lasts_for_half_of_its_copy_waited_for_it(returned: int, held: bool) -> None:
    assert held_up(np.array([returned]), np.array([100]), np.array([110])).tolist() == [held]


def test_a_copy_that_takes_no_time_holds_up_whom_it_ends_before() -> None:
    assert held_up(np.array([99, 100]), np.array([100, 100]), np.array([100, 100])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("kind", "length", "call", "waits"),
    [
        (None, 100, 101, True), (None, 100, 20, False), (None, 15, 101, False), ("pinned", 100, 101, False),
        ("pageable", 15, 101, True),
    ],
)  # fmt: skip
def test_where_the_kind_of_memory_is_not_recorded_a_call_as_long_as_its_copy_waited(
    kind: str | None, length: int, call: int, waits: bool
) -> None:
    facts = Facts()
    facts.host("runtime", "cuMemcpyHtoDAsync_v2", 10 * US, call * US, correlation=1)
    event = facts.kernel("Memcpy HtoD", 12 * US, length * US, launch=1, kind="copy")
    facts.row("copies", event=event, direction="HtoD", bytes=1 << 20, src_kind=kind, dst_kind="device")
    assert blocking_copies(facts.trace()).size == waits
