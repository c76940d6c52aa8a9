"""The kinds of change that are planted, each with what a comparison must say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.comparing.trace import Insert, PlantedTrace, correlation
from bench.kineto_json import Event
from bench.recordings.variants.kineto import category
from stepscope.model.kernel_names import classify

#: What is planted is about this share of the steps' time.
SHARE: Final = 0.1
#: Share of an operator's calls during which the device must be idle for it to wait for a slower operator.
_AWAITED: Final = 0.7


@dataclass(frozen=True, slots=True)
class Truth:
    """What was planted.

    Attributes:
        added_ns: By how much all steps together grew.
        steps: How many steps there are.
        slow: How many of them stall; 0 where all changed alike.
        parts: Parts of the step of which one must be named, and surely; empty where what is planted is no time.
        words: Of which one must stand in what is said of it.
        memory: By how much the peak of memory grew, as a share.
    """

    added_ns: int
    steps: int
    parts: tuple[str, ...]
    words: tuple[str, ...]
    slow: int = 0
    memory: float = 0.0


class NotThereError(Exception):
    """The recording has nothing that the plant changes."""


def stall(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Every third step but the first waits for its batch, the half of a step; without a loader, for the host."""
    length = int(size * _mean(trace))
    chosen = range(2, len(trace.steps), 3)
    if not chosen:
        raise NotThereError
    inserts: list[Insert] = []
    batch_loads = trace.host(
        lambda one: "dataloader" in str(one["name"]).lower() and "__next__" in str(one["name"]).lower()
    )
    named = True
    for i in chosen:
        start, end = trace.steps[i]
        inside = [one for one in batch_loads if start <= one["ts"] + one["dur"] // 2 < end]
        if inside:
            at = inside[0]["ts"] + inside[0]["dur"] // 2
        else:
            named = False
            gaps = trace.boundaries(start, end, 1)
            at = gaps[0] if gaps else start + 1
        inserts.append((at, at + 1, length // 2))
    trace.insert(inserts)
    words = (
        ("data wait",) if named else ("idle", "dispatch", "host", "data wait", "synchronisation", "latency", "unknown")
    )
    return Truth(length // 2 * len(inserts), len(trace.steps), ("idle",), words, slow=len(inserts))


def kernel_class(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """The kernels of a class that holds a fair share of the time take 1.5 times as long."""
    by: dict[str, int] = {}
    for one in trace.kernels():
        if trace.inside(one["ts"]):
            name = classify(str(one["name"])).op_class
            by[name] = by.get(name, 0) + one["dur"]
    whole = sum(end - start for start, end in trace.steps)
    fitting = {name: time for name, time in by.items() if 0.04 * whole < time < 0.5 * whole and name != "other"}
    if not fitting:
        raise NotThereError
    name = min(fitting, key=lambda one: abs(fitting[one] - 2 * SHARE * whole))
    inserts = [
        (one["ts"], one["ts"] + one["dur"], int(size * one["dur"] / 2)) for one in trace.kernels(name) if one["dur"] > 1
    ]
    trace.insert(inserts)
    return Truth(int(size * fitting[name] / 2), len(trace.steps), ("compute",), (name,))


def copies(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Copies take longer, the most frequent kind of them."""
    found = [one for one in trace.work(lambda one: "memcpy" in category(one)) if trace.inside(one["ts"])]
    found = [one for one in found if one["dur"] > 1]
    if not found:
        raise NotThereError
    kinds = [str(one["name"]) for one in found]
    kind = max(set(kinds), key=lambda name: sum(one["dur"] for one in found if one["name"] == name))
    chosen = [one for one in found if one["name"] == kind]
    whole = sum(end - start for start, end in trace.steps)
    factor = size * SHARE * whole / sum(one["dur"] for one in chosen)
    trace.insert([(one["ts"], one["ts"] + one["dur"], int(one["dur"] * factor)) for one in chosen])
    return Truth(
        int(size * SHARE * whole), len(trace.steps), ("exposed_copy",), (kind.split(" ")[1].lower(), "memcpy", "copies")
    )


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
    shift = 0
    for number, (thread, (moment, each)) in enumerate(zip(threads, calls, strict=True)):
        trace.add(
            thread, "cudaDeviceSynchronize", moment + shift + each // 8, each // 2, args={"correlation": 10**8 + number}
        )
        shift += each
    return Truth(total, len(trace.steps), ("idle.synchronisation",), ("cudadevicesynchronize",))


def memory(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """All that is allocated is a quarter larger."""
    changes = [one for one in trace.timeline.timed if one.get("name") == "[memory]"]
    changes = [one for one in changes if one["args"].get("Device Type") == 1]
    if not changes:
        raise NotThereError
    for one in changes:
        for column in ("Bytes", "Total Allocated", "Total Reserved"):
            if column in one["args"]:
                one["args"][column] = int(int(one["args"][column]) * (1 + size / 4))
    return Truth(0, len(trace.steps), (), ("peak memory",), memory=0.25 * size)


def batch_size(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Twice the batch: kernels take 1.9 times as long at size 1, and the inputs' first dimension doubles."""
    sizes = [dims[0][0] for one in trace.timeline.timed if (dims := _dims(one)) and _sized(dims)]
    if sizes:
        images = max(set(sizes), key=sizes.count)
        for one in trace.timeline.timed:
            if _dims(one):
                one["args"][_dims_key(one)] = [
                    [2 * images, *dims[1:]] if isinstance(dims, list) and len(dims) > 1 and dims[0] == images else dims
                    for dims in _dims(one)
                ]
    chosen = [one for one in trace.kernels() if one["dur"] > 1]
    inserts = _apart([(one["ts"], one["ts"] + one["dur"], int(0.9 * size * one["dur"])) for one in chosen])
    added = sum(extra for start, _, extra in inserts if trace.inside(start))
    trace.insert(inserts)
    return Truth(added, len(trace.steps), ("compute",), ("all of it", "batch", f"× {1 + 0.9 * size:.1f}"))


def split(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Kernels of one name run as three, which take 1.5 times as long in all."""
    chosen = _frequent(trace)
    launches = trace.launches()
    trace.insert([(one["ts"], one["ts"] + one["dur"], int(size * one["dur"] / 2)) for one in chosen])
    name = str(chosen[0]["name"])
    number = 10**8
    for one in chosen:
        each = one["dur"] // 3
        call = launches.get(correlation(one))
        for part in (1, 2):
            number += 1
            tie = (
                {"correlation": number, "External id": number}
                if "correlation" in one["args"]
                else {"external id": number}
            )
            trace.add(one, _renamed(name, part), one["ts"] + part * each, each - 1, args={**one["args"], **tie})
            if call is not None:
                trace.add(
                    call,
                    str(call["name"]),
                    call["ts"] + part * max(2, call["dur"] // 3),
                    max(1, call["dur"] // 3 - 2),
                    args={**call["args"], **tie},
                )
        one["name"], one["dur"] = _renamed(name, 0), each - 1
        if call is not None:
            call["dur"] = max(1, call["dur"] // 3 - 2)
    added = sum(one["dur"] for one in chosen if trace.inside(one["ts"]))
    return Truth(
        added, len(trace.steps), ("compute",), (classify(name).op_class, classify(name).short.lower()[:20], "→")
    )


def fused(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Of the kernels of one name two of three are gone, and with them their time."""
    chosen = _frequent(trace)
    share = min(0.9, size * 2 / 3)
    gone = [one for i, one in enumerate(chosen) if int((i + 1) * share) > int(i * share)]
    whole = sum(one["dur"] for one in gone if trace.inside(one["ts"]))
    name = str(chosen[0]["name"])
    trace.insert([(one["ts"], one["ts"] + one["dur"], -(one["dur"] - 1)) for one in gone])
    trace.remove(gone)
    return Truth(-whole, len(trace.steps), ("compute",), (classify(name).op_class, classify(name).short.lower()[:20]))


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
    whole = sum(end - start for start, end in trace.steps)
    middles = {name: [one["ts"] + one["dur"] // 2 for one in calls if one["name"] == name] for name in fitting}
    # Time put in where a kernel runs makes the kernel longer, not the wait for the host.
    awaited = [name for name in sorted(fitting) if trace.idle_at(middles[name]) >= _AWAITED]
    if not awaited:
        raise NotThereError
    name = max(awaited, key=names.count)
    chosen = _apart([(moment, moment + 1, 0) for moment in middles[name]])
    each = int(size * SHARE * whole / len(chosen))
    moments = [(start, end, each) for start, end, _ in chosen]
    trace.insert(moments)
    return Truth(
        each * len(moments), steps, ("idle.host_dispatch", "idle"), (name.lower(), "dispatch", "all of the host")
    )


def collectives(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Collectives take twice as long."""
    chosen = trace.work(lambda one: classify(str(one["name"])).op_class == "collective" and trace.inside(one["ts"]))
    chosen = [one for one in chosen if one["dur"] > 1]
    if not chosen:
        raise NotThereError
    inserts = _apart([(one["ts"], one["ts"] + one["dur"], int(size * one["dur"])) for one in chosen])
    trace.insert(inserts)
    return Truth(
        sum(one[2] for one in inserts),
        len(trace.steps),
        ("exposed_communication",),
        ("nccl", "all", "reduce", "collective"),
    )


def allocation(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Memory is taken from the driver ten times a step, while the device waits."""
    inserts: list[Insert] = []
    for start, end in trace.steps:
        moments = trace.boundaries(start + (end - start) // 20, end - (end - start) // 20, 10, awaited=True)
        if not moments:
            raise NotThereError
        inserts += [(moment, moment + 1, int(size * SHARE * (end - start) / len(moments))) for moment in moments]
    threads = trace.awaited_threads([moment for moment, _, _ in inserts])
    trace.insert(inserts)
    shift = 0
    for number, (thread, (moment, _, each)) in enumerate(zip(threads, inserts, strict=True)):
        trace.add(
            thread, "cudaMalloc", moment + shift + each // 16, each - each // 8, args={"correlation": 10**8 + number}
        )
        shift += each
    return Truth(shift, len(trace.steps), ("idle.allocation", "idle.host_dispatch"), ("cudamalloc",))


PLANTS: Final[Mapping[str, Callable[[PlantedTrace, float], Truth]]] = {
    "periodic stall": stall,
    "kernel class × 1.5": kernel_class,
    "longer copies": copies,
    "synchronisation": synchronisation,
    "more memory": memory,
    "twice the batch": batch_size,
    "split kernels": split,
    "fused kernels": fused,
    "slower operator": host_operator,
    "slower collectives": collectives,
    "allocation": allocation,
}


def _mean(trace: PlantedTrace) -> int:
    return sum(end - start for start, end in trace.steps) // max(1, len(trace.steps))


def _frequent(trace: PlantedTrace) -> list[Event]:
    """Kernels of the name that holds about a tenth of the steps' time and runs often."""
    found: dict[str, list[Event]] = {}
    for one in trace.kernels():
        if trace.inside(one["ts"]) and one["dur"] > 30:
            found.setdefault(str(one["name"]), []).append(one)
    whole = sum(end - start for start, end in trace.steps)
    often = {name: events for name, events in found.items() if len(events) >= 3 * len(trace.steps)}
    if not often:
        raise NotThereError
    return min(often.values(), key=lambda events: abs(sum(one["dur"] for one in events) - SHARE * whole))


def _renamed(name: str, part: int) -> str:
    head, bracket, rest = name.partition("<")
    return f"{head}_part{part}{bracket}{rest}"


def _apart(inserts: list[Insert]) -> list[Insert]:
    """Those that begin after the one before has ended."""
    kept: list[Insert] = []
    for one in sorted(inserts):
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    return kept


def _dims_key(event: Event) -> str:
    return "Input Dims" if "Input Dims" in event["args"] else "Input dims"


def _dims(event: Event) -> Any:
    return event["args"].get(_dims_key(event)) or [] if event.get("args") else []


def _sized(dims: Any) -> bool:
    return isinstance(dims[0], list) and len(dims[0]) == 4 and isinstance(dims[0][0], int)
