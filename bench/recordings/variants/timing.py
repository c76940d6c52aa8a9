"""Changes of time that recordings of every format take: cuts, clocks, repetitions, other lengths."""

from __future__ import annotations

from collections.abc import Callable

from bench.recordings.variants.kineto import KinetoRecording, is_mark
from bench.recordings.variants.nsight import NsightRecording
from bench.recordings.variants.recording import NotApplicableError, Recording, Warp, stretched, unmoved

Change = Callable[[Recording], None]

_DAY = 86_400_000_000_000
_IDLE = 5_000_000_000


def part(first: float, last: float) -> Change:
    """The recorder ran for this part of the window only."""

    def change(recording: Recording) -> None:
        start, end = recording.window()
        length = end - start
        recording.cut(start + round(first * length), end if last == 1 else start + round(last * length))

    return change


def from_within_a_step(recording: Recording) -> None:
    """The recorder starts in the middle of the first marked step."""
    steps = recording.steps()
    if len(steps) < 2:
        raise NotApplicableError
    recording.cut(sum(steps[0]) // 2, recording.window()[1])


def one_step(marked: bool) -> Change:
    """The recorder ran for the second marked step only, as programs do that record one batch."""

    def change(recording: Recording) -> None:
        steps = recording.steps()
        if len(steps) < 3 or not isinstance(recording, KinetoRecording):
            raise NotApplicableError
        recording.cut(*steps[1])
        if not marked:
            for timeline in recording.files.values():
                timeline.events = [event for event in timeline.events if not is_mark(event)]

    return change


def shifted(recording: Recording) -> None:
    """The job ran ten days later."""
    warp: Warp = lambda time: time + 10 * _DAY  # noqa: E731
    recording.warp(warp, warp)


def in_microseconds(recording: Recording) -> None:
    """The recorder's clock ticks once per microsecond."""
    warp: Warp = lambda time: time // 1000 * 1000  # noqa: E731
    recording.warp(warp, warp)


def device_clock(microseconds: int) -> Change:
    """The device's clock is off by so much."""
    return lambda recording: recording.warp(unmoved, lambda time: time + microseconds * 1000)


def device_drift(recording: Recording) -> None:
    """The device's clock gains 50 µs per second."""
    start, _ = recording.window()
    recording.warp(unmoved, lambda time: time + (time - start) // 20_000)


def slower(recording: Recording) -> None:
    """Everything takes 1.3 times as long."""
    start, end = recording.window()
    warp = stretched((start, 2 * end), 1.3)
    recording.warp(warp, warp)


def long_step(position: int) -> Change:
    """The marked step at this position takes four times as long, all of it."""

    def change(recording: Recording) -> None:
        steps = recording.steps()
        if len(steps) < 4:
            raise NotApplicableError
        warp = stretched((steps[position][0], steps[position + 1][0]), 4.0 if position == 0 else 2.0)
        recording.warp(warp, warp)

    return change


def three_times(recording: Recording) -> None:
    """The job does all that was recorded three times; only where that is steps, and not the start of a program."""
    if not recording.steps():
        raise NotApplicableError
    recording.repeat(3)


def idle_around(recording: Recording) -> None:
    """Five seconds without work before and after, with the context made and the profiler stopped there."""
    start, end = recording.window()
    if isinstance(recording, KinetoRecording):
        for timeline in recording.files.values():
            call = next((e for e in timeline.timed if e.get("cat") in ("cuda_runtime", "Runtime")), None)
            if call is None:
                raise NotApplicableError
            for name, at, length in (
                ("cudaFree", start - _IDLE, 300_000_000),
                ("cudaDeviceSynchronize", end + _IDLE, 5_000),
            ):
                args = {"cbid": 0, "correlation": 4_000_000_000 + len(name), "External id": 0}
                timeline.events.append({**call, "name": name, "ts": at, "dur": length, "args": args})
        return
    if not isinstance(recording, NsightRecording) or "CUPTI_ACTIVITY_KIND_RUNTIME" not in recording.tables:
        raise NotApplicableError
    table = "CUPTI_ACTIVITY_KIND_RUNTIME"
    columns = recording.tables[table]
    for moment, length in ((start - _IDLE, 300_000_000), (end + _IDLE, 5_000)):
        name = "cuCtxCreate" if moment < start else "cuCtxDestroy"
        number = recording.string(name)
        values = {"start": moment, "end": moment + length, "nameId": number, "correlationId": 4_000_000_000 + length}
        chosen = ", ".join(str(values.get(column, f'"{column}"')) for column in columns)
        recording.database.execute(f'INSERT INTO "{table}" SELECT {chosen} FROM "{table}" LIMIT 1')
