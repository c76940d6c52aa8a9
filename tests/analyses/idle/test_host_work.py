"""What the host does between launches: work of its own, first uses, and waits for what is not in the recording."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idle_support import Causes, causes
from stepscope.analyses.idle.host_work import between, host_work, longest_dispatch_ns, unseen_work
from stepscope.model.intervals import Intervals
from support import Facts

MS = 1_000_000
US = 1_000


def launched(f: Facts, start: int, number: int, *, every: int = 100 * US) -> int:
    """Launches of kernels of 50 µs, one after another; returns when the next one would be due."""
    for call in range(number):
        at = start + call * every
        f.kernel("gemm", at + 10 * US, 50 * US, launch=(at, 5 * US))
    return start + number * every


def quiet(length: int) -> Facts:
    """Ten launches, a quiet host, and ten more."""
    f = Facts()
    later = launched(f, 0, 10) + length
    f.host("op", "aten::view", 0, 10)
    end = launched(f, later, 10)
    f.step(0, 0, end)
    return f


@pytest.mark.parametrize(("length", "found"), [(1_850 * US, 0), (1_910 * US, 1), (50 * MS, 1)])
def test_quiet_times_are_work_from_twenty_launches_on(length: int, found: int) -> None:
    trace = quiet(length).trace()
    assert longest_dispatch_ns(trace) == 2 * MS
    assert len(host_work(trace)) == found


def test_work_of_its_own_is_no_dispatch() -> None:
    got = causes(quiet(50 * MS).trace())
    assert got["host_dispatch", "host_work"] == 50 * MS + 40 * US
    assert got["host_dispatch", "python"] < 2 * MS


def test_a_refill_is_a_few_launches_and_what_is_beyond_is_work() -> None:
    f = quiet(50 * MS)
    f.host("sync", "cudaDeviceSynchronize", 910 * US, 60 * US)
    got = causes(f.trace())
    assert got["host_dispatch", "host_work"] == 50 * MS + 30 * US
    assert got.get(("synchronisation", "refill"), 0) < MS


@pytest.mark.parametrize(("name", "work"), [("mpi:MPI_Allreduce", 300), ("MPI_Wait", 300), ("MPI_Init", 0)])
def test_a_call_of_mpi_is_no_refill_however_short(name: str, work: int) -> None:
    f = Facts()
    at = launched(f, 0, 10)
    f.host("sync", "cudaDeviceSynchronize", at - 90 * US, 60 * US)
    f.host("annotation", name, at, 300 * US)
    f.step(0, 0, launched(f, at + 310 * US, 10))
    got = causes(f.trace())
    assert got.get(("host_dispatch", "host_work"), 0) == work * US


def test_recordings_without_most_launches_do_not_tell_work() -> None:
    f = quiet(50 * MS)
    for number in range(30):
        f.kernel("lost", 900 * MS + number * US, US, kind="compute")
    assert len(host_work(f.trace())) == 0


def test_pages_that_migrate_have_no_launch_that_could_be_lost() -> None:
    f = quiet(50 * MS)
    for number in range(30):
        event = f.kernel("Memcpy DtoH", 900 * MS + number * US, US, kind="copy")
        f.row("copies", event=event, direction="DtoH", bytes=4096, src_kind="managed", dst_kind="managed")
    assert len(host_work(f.trace())) > 0


def test_the_first_launch_of_a_kernel_loads_it() -> None:
    f = Facts()
    f.step(0, 0, 30 * MS)
    # A step begins after a late start of nearly all of its work; here a part of it has run by then.
    f.kernel("copy", 20 * US, 80 * US, launch=(10 * US, 5 * US))
    f.kernel("gemm", 10 * MS + 105 * US, MS // 2, launch=(100 * US, 10 * MS))
    f.kernel("gemm", 20 * MS + 5 * US, MS // 2, launch=(12 * MS, 8 * MS))
    got = causes(f.trace())
    assert got["host_dispatch", "first_use"] == 10 * MS
    assert got["host_dispatch", "runtime_call"] == 8 * MS + 5 * US


@pytest.mark.parametrize(("length", "cause"), [(999_999, "runtime_call"), (1_000_000, "first_use")])
def test_the_first_call_of_a_name_may_load_what_later_ones_find(length: int, cause: str) -> None:
    f = Facts()
    f.step(0, 0, 30 * MS)
    f.kernel("gemm", 5 * US, MS, launch=(0, 2 * US))
    f.host("runtime", "cudaEventCreateWithFlags", 2 * MS, length)
    f.host("runtime", "cudaEventCreateWithFlags", 6 * MS, 2 * MS)
    f.kernel("gemm", 20 * MS, MS, launch=(19 * MS, 5 * US))
    got = causes(f.trace())
    assert got["host_dispatch", cause] >= length
    assert got["host_dispatch", "runtime_call"] >= 2 * MS


def waiting(category: str, name: str) -> Causes:
    f = Facts()
    f.step(0, 0, 20 * MS)
    f.kernel("gemm", 10 * US, MS, launch=(0, 5 * US))
    f.host(category, name, MS, 9 * MS)
    f.kernel("gemm", 11 * MS, MS, launch=(10 * MS + 900 * US, 5 * US))
    return causes(f.trace())


def test_a_wait_for_a_device_that_shows_nothing_is_for_work_that_is_not_recorded() -> None:
    assert waiting("sync", "cudaStreamSynchronize")["unknown", "work not recorded"] == 10 * MS - MS - 10 * US
    assert ("unknown", "work not recorded") not in waiting("runtime", "cudaFuncSetAttribute")


def test_short_waits_are_for_the_work_before() -> None:
    f = Facts()
    f.step(0, 0, 20 * MS)
    f.kernel("gemm", 10 * US, MS, launch=(0, 5 * US))
    f.host("sync", "cudaStreamSynchronize", 10 * US, 1_900 * US)
    assert len(unseen_work(f.trace())) == 0


def test_work_behind_an_event_of_idle_devices_waits_for_what_is_not_recorded() -> None:
    f = Facts()
    f.kernel("copy", 20 * US, 100 * US, launch=(10 * US, 5 * US))
    f.host("runtime", "hipStreamWaitEvent", 150 * US, 5 * US)
    f.kernel("gemm", 400 * MS, MS, launch=(200 * US, 5 * US))
    f.step(0, 0, 402 * MS)
    got = causes(f.trace())
    assert got["unknown", "work not recorded"] > 399 * MS


def convolutions(first: int, other: int, number: int = 5, *, in_python: bool = False) -> Facts:
    """Operators of one name, of which the first takes as long as is said before it launches its kernel."""
    f = Facts()
    at = 0
    for call in range(number):
        took = other if call else first
        f.host("op", "aten::cudnn_convolution", at, took + 20 * US)
        if in_python:
            f.host("python", "conv.py(7): forward", at + took - 5 * US, 20 * US)
        f.kernel("conv", at + took + 15 * US, 50 * US, launch=(at + took, 5 * US))
        at += took + 100 * US
    f.step(0, 0, at)
    return f


@pytest.mark.parametrize(
    ("first", "other", "number", "cause"),
    [
        (300 * MS, 1 * MS, 5, "first_use"),
        (300 * MS, 16 * MS, 5, "host_work"),  # all of them take long
        (300 * MS, 1 * MS, 3, "host_work"),  # too few to tell
    ],
)
def test_the_first_operator_of_a_name_that_takes_far_longer_than_the_others_is_first_use(
    first: int, other: int, number: int, cause: str
) -> None:
    f = convolutions(first, other, number)
    got = causes(f.trace(), step=0)
    assert got["host_dispatch", cause] >= first - MS


def test_an_operator_whose_python_launches_may_be_first_use() -> None:
    got = causes(convolutions(300 * MS, MS, in_python=True).trace(), step=0)
    assert got["host_dispatch", "first_use"] >= 299 * MS


@pytest.mark.parametrize(
    ("name", "recorded", "number"),
    [
        ("aten::copy_", False, 0),
        ("aten::_local_scalar_dense", False, 0),
        ("aten::sort", False, 1),
        ("aten::copy_", True, 1),
    ],
)
def test_a_copy_whose_calls_are_not_recorded_is_no_other_work(name: str, recorded: bool, number: int) -> None:
    """Where calls are recorded, a copy that makes none for milliseconds is work of the host's."""
    f = quiet(50 * MS)
    f.host("op", name, MS, 49 * MS + 900 * US)
    if recorded:
        f.host("runtime", "aclrtMalloc", 910 * US, US)
    assert len(host_work(f.trace())) == number


@pytest.mark.parametrize(("marked", "took", "is_first"), [(True, 5, True), (False, 5, False), (True, 3, False)])
def test_a_later_operator_in_which_code_is_loaded_is_first_use(marked: bool, took: int, is_first: bool) -> None:
    """Operators of 1 ms each, of which one takes longer: from four times as long on it loads a kernel of its own."""
    f = Facts()
    at = 0
    for call in range(6):
        length = took * MS if call == 3 else MS
        f.host("op", "aten::addmm", at, length)
        if marked and call == 3:
            f.host("overhead", "Lazy Function Loading", at + length - 60 * US, 40 * US, thread="9")
        f.kernel("gemm", at + length - 5 * US, 100 * US, launch=(at + length - 10 * US, 5 * US))
        at += length + 100 * US
    f.step(0, 0, at)
    assert (("host_dispatch", "first_use") in causes(f.trace(), step=0)) is is_first


@given(
    st.lists(st.tuples(st.integers(-20, 60), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(-30, 30), st.integers(1, 60), st.integers(1, 8),
)  # fmt: skip
def test_long_times_between_calls(calls: list[tuple[int, int]], lo: int, length: int, least: int) -> None:
    starts, ends = np.array([ts for ts, _ in calls]), np.array([ts + dur for ts, dur in calls])
    quiet = Intervals.union_of(starts, ends).complement(lo, lo + length)
    long = quiet.ends - quiet.starts >= least
    assert between(starts, ends, lo, lo + length, least) == Intervals(quiet.starts[long], quiet.ends[long])
