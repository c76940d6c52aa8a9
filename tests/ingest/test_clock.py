"""The offset between the clocks of host and device is taken out where it shows, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.ingest.derive.clock import room
from stepscope.ingest.derive.clock.bounds import Bounds
from stepscope.ingest.derive.clock.offset import offset
from stepscope.ingest.derive.clock.room import shift_by_room
from stepscope.model.trace import Trace
from support import Facts

US = 1_000


def job(ahead: int = 0, ppm: float = 0.0, kernels: int = 40, every: int = 1_000 * US) -> Facts:
    """Launches, kernels 8 µs after them, and a wait that returns 3 µs after each; the device's clock is ahead."""

    def seen(time: int) -> int:
        return time + ahead + round(time * ppm / 1e6)

    f = Facts()
    for number in range(kernels):
        at = 100 * US + number * every
        start = at + 8 * US
        f.kernel("k", seen(start), seen(start + 400 * US) - seen(start), launch=(at, 5 * US))
        f.host("sync", "cudaDeviceSynchronize", at + 10 * US, start + 403 * US - at - 10 * US)
    return f


def delays(trace: Trace) -> np.ndarray:
    """From launch to start, ns."""
    rows = trace.columns("SELECT k.ts - h.ts AS ns FROM kernels k JOIN spans h ON h.id = k.launch ORDER BY k.ts")
    return rows["ns"]


def effect(trace: Trace) -> str:
    return str(trace.scalar("SELECT effect FROM health WHERE code = 'clocks-aligned'"))


def aligned(trace: Trace) -> bool:
    return bool(trace.scalar("SELECT count(*) FROM health WHERE code = 'clocks-aligned'"))


@pytest.mark.parametrize("ahead", [0, 2 * US, -5 * US])
def test_a_recording_that_nothing_speaks_against_stays_as_it_is(ahead: int) -> None:
    trace = job(ahead).trace()
    assert not aligned(trace)
    assert set(delays(trace).tolist()) == {8 * US + ahead}


@pytest.mark.parametrize("ahead", [-200 * US, -60 * US, -12 * US, 9 * US, 80 * US])
def test_an_offset_is_taken_out(ahead: int) -> None:
    found = job(ahead).trace()
    assert aligned(found)
    assert np.abs(delays(found) - 8 * US).max() <= 4 * US


@pytest.mark.parametrize(
    ("ahead", "ppm", "moved"),
    [
        (-200 * US, 0.0, "is off the host's: its times were moved 196 µs later"),
        (80_500, 0.0, "is off the host's: its times were moved 78.5 µs earlier"),
        (
            -100 * US,
            5_000.0,
            "drifts: its times were moved 97.8 µs later at the start and 101 µs earlier at the end",
        ),
    ],
)
def test_it_is_said_how_far_times_were_moved_and_which_way(ahead: int, ppm: float, moved: str) -> None:
    assert effect(job(ahead, ppm).trace()) == f"the device's clock {moved}"


@pytest.mark.parametrize(("ahead", "ppm"), [(-100 * US, 5_000.0), (60 * US, -4_000.0)])
def test_a_drift_is_taken_out(ahead: int, ppm: float) -> None:
    found = job(ahead, ppm).trace()
    assert np.abs(delays(found) - 8 * US).max() <= 6 * US
    # Durations stay as recorded, so that sums are exact; drifts of real clocks are a hundredth of this one.
    recorded = 400 * US + round(400 * US * ppm / 1e6)
    rows = found.columns("SELECT dur FROM kernels")
    assert rows["dur"].tolist() == [recorded] * 40


@pytest.mark.parametrize("ahead", [-200 * US, 80 * US])
def test_times_begin_at_0_again_and_differ_as_recorded_on_each_clock(ahead: int) -> None:
    f = job(ahead)
    f.host("op", "first on the host", 0, 10)
    f.kernel("first on the device", 5 * US, 10 * US)
    f.kernel("next", 300, 100, kind="copy")
    trace = f.trace()
    assert aligned(trace)
    assert trace.scalar("SELECT min(ts) FROM spans") == 0
    starts = {row["name"]: row["ts"] for row in trace.rows("SELECT name, ts FROM kernels WHERE name <> 'k'")}
    assert starts["first on the device"] - starts["next"] == 5 * US - 300


def test_waits_recorded_beside_device_work_keep_the_time_of_the_host() -> None:
    f = job(-60 * US)
    f.kernel("Stream Synchronize", 110 * US, 98 * US, kind="sync")
    rows = f.trace().columns("SELECT ts FROM kernels WHERE kind = 'sync'")
    assert rows["ts"].tolist() == [110 * US - 100 * US]  # the first launch is where time starts


def test_single_odd_times_are_not_the_clocks_doing() -> None:
    f = job(kernels=400)
    for at in (50_000 * US, 60_000 * US):
        f.kernel("odd", at, 10 * US, launch=(at + 500, 5 * US))
    assert not aligned(f.trace())


def test_without_anything_that_could_tell_nothing_is_shifted() -> None:
    f = Facts()
    f.kernel("k", 0, 10)
    f.host("op", "aten::mm", 5, 10)
    assert not aligned(f.trace())


def bounds(*values: int) -> Bounds:
    return Bounds(np.arange(len(values)) * 1_000_000, np.array(values, np.int64))


def test_times_that_no_shift_mends_stay() -> None:
    assert offset(bounds(*[50 * US, -40 * US] * 10), bounds(*[-30 * US, 60 * US] * 10)) is None
    assert offset(bounds(50 * US, 60 * US), bounds()) is None


def late(delay: int, launches: int = 40) -> Facts:
    """Launches onto an idle device that nothing waits for; each starts so long after its call returned."""
    f = Facts()
    for number in range(launches):
        at = number * 1_000 * US
        f.kernel("k", at + 5 * US + delay, 100 * US, launch=(at, 5 * US))
        f.kernel("queued", at + 110 * US + delay, 300 * US, launch=(at + 6 * US, 5 * US))
    return f


@pytest.mark.parametrize("delay", [80 * US, 2_000 * US])
def test_a_clock_that_is_ahead_shows_where_nothing_was_in_the_way(delay: int) -> None:
    trace = late(delay).trace()
    assert aligned(trace)
    assert delays(trace)[::2].tolist() == [7 * US] * 40


def test_odd_waits_do_not_hide_how_much_a_clock_is_ahead() -> None:
    f = late(200 * US)
    for number in (3, 13, 23, 33):
        start, end = number * 1_000 * US + 20 * US, number * 1_000 * US + 610 * US
        # It returns 40 µs before the end that the device's clock has.
        f.host("sync", "cudaDeviceSynchronize", start, end - 40 * US - start)
    trace = f.trace()
    assert aligned(trace)
    assert delays(trace)[::2].tolist() == [7 * US] * 40


@pytest.mark.parametrize(("delay", "launches"), [(2 * US, 40), (40 * US, 40), (80 * US, 20)])
def test_usual_delays_and_few_late_launches_shift_nothing(delay: int, launches: int) -> None:
    trace = late(delay, launches).trace()
    assert not aligned(trace)


def test_work_that_is_queued_is_late_without_a_clock_that_is_ahead() -> None:
    f = Facts()
    for number in range(200):
        f.kernel("k", 2_000 * US + number * 100 * US, 99 * US, launch=(number * 10 * US, 5 * US))
    assert not aligned(f.trace())


def test_a_device_that_is_slow_to_begin_has_the_right_clock() -> None:
    """What it does right after is launched a little before: shifted by as much, it would start before its launch."""
    f = late(1_500 * US)
    for number in range(40):
        start = number * 2_000 * US + 2_011 * US
        f.kernel("next", start, 50 * US, launch=(start - 20 * US, 5 * US))
    assert not aligned(f.trace())


def test_a_few_quick_launches_keep_the_clock() -> None:
    f = late(300 * US)
    for number in range(8):
        f.kernel("quick", (50_000 + number * 1_000) * US, 10 * US, launch=((50_000 + number * 1_000 - 8) * US, 5 * US))
    assert not aligned(f.trace())


def full_queue(ahead: int = 0, ppm: float = 0.0, waits: int = 200, regular: bool = False) -> tuple[dict, dict]:
    """Work and calls of a queue that holds 300 launches: the others return 6 µs after the end that makes room."""
    lengths = np.random.default_rng(7).integers(20 * US, 300 * US, 300 + waits)
    ends = 400 * US + np.cumsum(np.full(300 + waits, 100 * US) if regular else lengths)
    quick = np.arange(300) * 5 * US
    returned = np.concatenate((quick + 4 * US, ends[:waits] + 6 * US))
    called = np.concatenate((quick, returned[299:-1] + US))
    stop = ends + ahead + np.round(ends * ppm / 1e6).astype(np.int64)
    correlation = np.arange(1, ends.size + 1)
    begun = np.concatenate((stop[:1] - 20 * US, stop[:-1]))
    work = {"ts": begun, "stop": stop, "track": np.full(ends.size, 7), "correlation": correlation}
    calls = {"ts": called, "stop": returned, "correlation": correlation, "launches": np.full(ends.size, True)}
    return work, calls


@pytest.mark.parametrize("ahead", [-1_500 * US, -40 * US, 25 * US, 1_990 * US])
def test_launches_onto_a_full_queue_show_the_offset(ahead: int) -> None:
    found = shift_by_room(*full_queue(ahead))
    assert found is not None
    assert found.slope == 0.0
    assert abs(found.ns + ahead) <= 2 * US


@pytest.mark.parametrize("ppm", [-60.0, 200.0])
def test_launches_onto_a_full_queue_show_a_drift(ppm: float) -> None:
    work, calls = full_queue(-20 * US, ppm, waits=1_000)
    found = shift_by_room(work, calls)
    assert found is not None
    waited = work["stop"][:1_000]
    assert np.abs(waited + found.at(waited) - (calls["stop"][300:] - 6 * US)).max() <= 3 * US


@pytest.mark.parametrize(
    "case", [{"ahead": 5 * US}, {"ahead": 40 * US, "waits": 40}, {"ahead": 40 * US, "regular": True}]
)
def test_synchronous_clocks_few_waits_and_regular_kernels_show_none(case: dict) -> None:
    assert shift_by_room(*full_queue(**case)) is None


def test_a_full_queue_moves_devices_only() -> None:
    work, calls = full_queue(1_000 * US)
    f = Facts()
    for at, stop, called, returned in zip(work["ts"], work["stop"], calls["ts"], calls["stop"], strict=True):
        f.kernel("k", int(at), int(stop - at), launch=(int(called), int(returned - called)))
    trace = f.trace()
    assert aligned(trace)
    assert int(delays(trace)[0]) == pytest.approx(int(work["ts"][0] - calls["ts"][0]) - 1_000 * US, abs=2 * US)


def test_as_many_waits_as_are_enough_show_the_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shift_by_room(*full_queue(40 * US))
    assert found is not None
    monkeypatch.setattr(room, "_ENOUGH", found.room)
    assert shift_by_room(*full_queue(40 * US)) == found
    monkeypatch.setattr(room, "_ENOUGH", found.room + 1)
    assert shift_by_room(*full_queue(40 * US)) is None
