"""Changes of what the host does, which the device waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.comparing.trace import Insert, PlantedTrace
from bench.comparing.truth import SHARE, NotThereError, Truth, apart, mean_step, whole
from bench.kineto_json import Event
from bench.recordings.variants.kineto import category, is_runtime

#: Steps of which one may be slower than usual.
_SEVERAL: Final = 3
#: Share of moments at which the device must be idle for it to wait for what the host does longer there.
_AWAITED: Final = 0.7
#: No call waits longer for a device that has nothing to do, ns: that would be a wait for work that nobody recorded.
_WAIT: Final = 800_000


def stall(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Every third step but the first waits for its batch, the half of a step; without a loader, for the host."""
    return _stalled(trace, size, range(2, len(trace.steps), 3))


def single_stall(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """One step in the middle waits for three quarters of a step."""
    return _stalled(trace, 1.5 * size, [len(trace.steps) // 2])


def loader(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """All steps wait longer for their batch."""
    moments = [at for i in range(len(trace.steps)) if (at := _batch_wait(trace, i)) is not None]
    # Where the device is behind, it works while the batch is waited for, and calls that wait for it would be shorter.
    if len(moments) < len(trace.steps) or trace.idle_at(moments) < _AWAITED:
        raise NotThereError
    length = int(size * SHARE * mean_step(trace))
    _delay(trace, [(at, length) for at in moments])
    return Truth(length * len(moments), len(trace.steps), ("idle.data_wait",), (("data wait",),))


def garbage(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """The host pauses in one step of four, within what it does but in no call of the runtime, for a third of a step."""
    chosen = range(1, len(trace.steps), 4)
    if len(trace.steps) < 4:
        raise NotThereError
    length = int(size * mean_step(trace) / 3)
    inserts, calls = [], trace.host(is_runtime)
    for i in chosen:
        first, last = trace.host_step(i)
        moment = (first + last) // 2
        while inside := [one["ts"] + one["dur"] for one in calls if one["ts"] <= moment < one["ts"] + one["dur"]]:
            moment = max(inside)
        inserts.append((moment, length))
    _delay(trace, inserts)
    words = ("host dispatch", "unknown", "launch latency", "data wait")
    return Truth(length * len(inserts), len(trace.steps), ("idle",), (words,), slow=len(inserts))


def compiling(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """One step in the middle compiles something anew, for as long as a step."""
    # A queue of the framework hides on which thread a program compiles.
    if trace.queued or len(trace.steps) < _SEVERAL:
        raise NotThereError
    i, length = len(trace.steps) // 2, int(size * mean_step(trace))
    at = trace.quiet(*trace.host_step(i))
    _delay(trace, [(at, length)])
    thread = trace.main_thread()
    trace.add(thread, "_compile.compile_inner (dynamo_timed)", at + length // 50, length - length // 25,
              cat="user_annotation", args={})  # fmt: skip
    words = ("host dispatch", "compil", "unknown")
    return Truth(length, len(trace.steps), ("idle",), (words,), slow=1)


def synchronisation(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """The host waits for the device many times a step, and the device for the host afterwards."""
    calls, total = [], 0
    inserts: list[Insert] = []
    for start, end in trace.steps:
        moments = trace.boundaries(start + (end - start) // 20, end - (end - start) // 20, 20, awaited=True)
        if not moments:
            raise NotThereError
        each = int(size * SHARE * (end - start) / len(moments))
        for moment in moments:
            inserts.append((moment, moment + 1, each))
            calls.append((moment, each))
            total += each
    threads = trace.awaited_threads([moment for moment, _ in calls])
    trace.insert(inserts)
    shift, number = 0, 10**8
    for thread, (moment, each) in zip(threads, calls, strict=True):
        waits = -(-each // _WAIT)
        length = each // waits
        for i in range(waits):
            number += 1
            start = moment + shift + i * length + length // 16
            name = trace.called("cudaDeviceSynchronize")
            trace.add(thread, name, start, length - length // 8, args={"correlation": number})
        shift += each
    return Truth(
        total, len(trace.steps), ("idle.synchronisation",), ((trace.called("cudaDeviceSynchronize").lower(),),)
    )


def _ten_waits(trace: PlantedTrace, size: float) -> list[Insert]:
    """Time for the host in up to ten places of each step where the device waits, `SHARE` of the step in all."""
    inserts: list[Insert] = []
    for start, end in trace.steps:
        moments = trace.boundaries(start + (end - start) // 20, end - (end - start) // 20, 10, awaited=True)
        if not moments:
            raise NotThereError
        inserts += [(moment, moment + 1, int(size * SHARE * (end - start) / len(moments))) for moment in moments]
    return inserts


def allocation(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Memory is taken from the driver ten times a step, while the device waits."""
    inserts = _ten_waits(trace, size)
    threads = trace.awaited_threads([moment for moment, _, _ in inserts])
    trace.insert(inserts)
    shift = 0
    for number, (thread, (moment, _, each)) in enumerate(zip(threads, inserts, strict=True)):
        trace.add(
            thread,
            trace.called("cudaMalloc"),
            moment + shift + each // 16,
            each - each // 8,
            args={"correlation": 10**8 + number},
        )
        shift += each
    return Truth(shift, len(trace.steps), ("idle.allocation",), ((trace.called("cudaMalloc").lower(),),))


def reading_back(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Ten values per step are copied to the host, which waits for each, and the device for the host afterwards."""
    inserts = _ten_waits(trace, size)
    threads = trace.awaited_threads([moment for moment, _, _ in inserts])
    copies = [one for one in trace.work() if "memcpy" in category(one)]
    if not copies or trace.queued:
        raise NotThereError
    trace.insert(inserts)
    shift = 0
    for number, (thread, (moment, _, each)) in enumerate(zip(threads, inserts, strict=True)):
        tie, at = {"correlation": 10**8 + number}, moment + shift
        trace.add(thread, trace.called("cudaMemcpyAsync"), at + each // 16, each // 16, args=tie)
        trace.add(copies[0], "Memcpy DtoH (Device -> Pageable)", at + each // 4, each // 4, args=tie)
        waits = {"correlation": 2 * 10**8 + number}
        trace.add(thread, trace.called("cudaStreamSynchronize"), at + each // 8, each - each // 4, args=waits)
        shift += each
    words = (*(trace.called(one).lower() for one in ("cudaStreamSynchronize", "cudaMemcpyAsync")), "dtoh")
    return Truth(shift, len(trace.steps), ("idle.synchronisation", "exposed_copy"), (words,))


def host_operator(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """An operator of the host takes longer, and the device waits for what it launches."""
    calls = trace.host(lambda one: category(one) in ("cpu_op", "operator") and trace.inside(one["ts"]))
    names = [str(one["name"]) for one in calls]
    steps = len(trace.steps)
    fitting = {
        name for name in set(names) if steps * 5 <= names.count(name) <= steps * 200 and name.startswith("aten::")
    }
    if not fitting:
        raise NotThereError
    waits = _batch_waits(trace)  # an operator in there makes the wait for the batch longer
    inner = [one for one in _innermost(calls) if not _within(waits, one["ts"] + one["dur"] // 2)]
    middles = {name: [one["ts"] + one["dur"] // 2 for one in inner if one["name"] == name] for name in fitting}
    # Time put in where a kernel runs makes the kernel longer, not the wait for the host.
    awaited = [
        name for name in sorted(fitting) if len(middles[name]) >= steps and trace.idle_at(middles[name]) >= _AWAITED
    ]
    if not awaited:
        raise NotThereError
    name = max(awaited, key=names.count)
    idle = [moment for moment, alone in zip(middles[name], trace.idle(middles[name]), strict=True) if alone]
    chosen = apart([(moment, moment + 1, 0) for moment in idle])
    each = int(size * SHARE * whole(trace) / len(chosen))
    moments = [(start, end, each) for start, end, _ in chosen]
    # A call of the device's runtime within the operator grows as the operator does.
    inside = {str(one["name"]).lower() for one in trace.host(is_runtime) if any(_within([one], at) for at in idle)}
    trace.insert(moments)
    parts = ("idle.host_dispatch", "idle.launch_latency", "idle.synchronisation", "idle.data_wait")
    return Truth(each * len(moments), steps, parts, ((name.lower(), *sorted(inside), "all of the host"),))


def _innermost(calls: Sequence[Event]) -> list[Event]:
    """Those of these calls, in order of time, that no other on their thread covers the middle of."""
    found = []
    for i, one in enumerate(calls):
        middle, others = one["ts"] + one["dur"] // 2, calls[i + 1 : i + 50]
        if not any(
            other["ts"] <= middle < other["ts"] + other["dur"] and other["tid"] == one["tid"] for other in others
        ):
            found.append(one)
    return found


def _stalled(trace: PlantedTrace, size: float, chosen: Sequence[int]) -> Truth:
    """Steps in which the host waits for its batch, or for nothing that is recorded, half of a step at size 1."""
    length = int(size * mean_step(trace)) // 2
    if not chosen or len(trace.steps) < _SEVERAL:
        raise NotThereError
    named = True
    delays = []
    for i in chosen:
        at = _batch_wait(trace, i)
        named = named and at is not None
        delays.append((trace.quiet(*trace.host_step(i)) if at is None else at, length))
    _delay(trace, delays)
    words = ("data wait",) if named else ("host dispatch", "data wait", "unknown", "launch latency")
    return Truth(length * len(delays), len(trace.steps), ("idle",), (words,), slow=len(delays))


def _delay(trace: PlantedTrace, delays: Sequence[tuple[int, int]]) -> None:
    """Let the host stand still; what it launches can't come later where no launch is recorded."""
    if not trace.launches():
        raise NotThereError
    trace.delay_host(delays)


def _batch_wait(trace: PlantedTrace, number: int) -> int | None:
    """A moment at which the batch of a step is waited for; None where none is."""
    last = trace.host_step(number)[1]
    before = trace.host_step(number - 1)[1] if number else 0
    inside = [one for one in _batch_waits(trace) if before <= one["ts"] + one["dur"] // 2 < last]
    return inside[-1]["ts"] + inside[-1]["dur"] // 2 if inside else None


def _batch_waits(trace: PlantedTrace) -> list[Event]:
    """Calls in which batches are waited for, in order of time."""
    return trace.host(lambda one: "dataloader" in str(one["name"]).lower() and "next" in str(one["name"]).lower())


def _within(spans: Sequence[Event], moment: int) -> bool:
    return any(one["ts"] <= moment < one["ts"] + one["dur"] for one in spans)
