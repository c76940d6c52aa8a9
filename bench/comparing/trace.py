"""A trace of PyTorch that takes plants: time put in at moments of all threads and queues, calls and kernels put in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bench.kineto_json import Event, Timeline
from bench.recordings.variants.kineto import category, is_runtime, on_device
from stepscope.ingest import Options, open_trace
from stepscope.model.events.steps import Steps
from stepscope.model.kernel_names import classify

#: Time put in: from, to, and by how much that stretch grows, ns.
Insert = tuple[int, int, int]


class PlantedTrace:
    """A copy of a recording, to be changed in place.

    Attributes:
        timeline: Its events.
        steps: Start and end on the devices of each of its typical steps, and of those between them.
    """

    #: What calls of the runtime are named here, where not as CUDA's.
    calls: Mapping[str, str] = MappingProxyType({})
    #: Whether operators are queued, and launched by another thread.
    queued = False

    def __init__(self, source: Path, steps: Sequence[tuple[int, int]] | None = None) -> None:
        """Read a file."""
        self.source = source
        self.timeline = Timeline.load(source)
        timed = [event["ts"] for event in self.timeline.timed if category(event) != "trace"]
        self.origin = min(timed)
        self.steps = list(steps) if steps is not None else _steps(source, self.origin)

    def copy(self) -> PlantedTrace:
        """The same once more; what is within arguments is shared, to be replaced rather than changed."""
        found = PlantedTrace.__new__(PlantedTrace)
        found.source, found.origin, found.steps = self.source, self.origin, list(self.steps)
        events = [{**one, "args": {**one["args"]}} if one.get("args") else {**one} for one in self.timeline.events]
        found.timeline = Timeline(self.timeline.head, events, self.timeline.bare)
        return found

    def called(self, name: str) -> str:
        """What a call of CUDA's runtime is named here."""
        return self.calls.get(name, name)

    def enlarge(self, factor: float) -> bool:
        """Make all allocations so many times as large; False where none are recorded."""
        changes = [one for one in self.timeline.timed if one.get("name") == "[memory]"]
        changes = [one for one in changes if one["args"].get("Device Type") == 1]
        for one in changes:
            for column in ("Bytes", "Total Allocated", "Total Reserved"):
                if column in one["args"]:
                    one["args"][column] = int(int(one["args"][column]) * factor)
        return bool(changes)

    def work(self, wanted: Callable[[Event], bool] = lambda _: True) -> list[Event]:
        """Activities of devices in order of time."""
        found = [one for one in self.timeline.timed if on_device(one) and one.get("ph") == "X" and wanted(one)]
        return sorted(found, key=lambda one: one["ts"])

    def kernels(self, *classes: str) -> list[Event]:
        """Kernels of some classes; all that compute without any."""
        return self.work(
            lambda one: (
                category(one) == "kernel"
                and (one_class := classify(str(one["name"])).op_class) != "collective"
                and (not classes or one_class in classes)
            )
        )

    def host(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """Events of the host in order of time."""
        found = [one for one in self.timeline.timed if not on_device(one) and one.get("ph") == "X" and wanted(one)]
        return sorted(found, key=lambda one: one["ts"])

    def launches(self) -> dict[Any, Event]:
        """Calls of the runtime by correlation."""
        return {correlation(one): one for one in self.host(is_runtime) if correlation(one) is not None}

    def inside(self, moment: int, steps: Iterable[int] | None = None) -> bool:
        """Whether a moment lies in one of these steps, or in any."""
        chosen = self.steps if steps is None else [self.steps[i] for i in steps]
        return any(start <= moment < end for start, end in chosen)

    def insert(self, inserts: Sequence[Insert]) -> None:
        """Put time in: all that lies across it grows, all that comes later is later."""
        warp = warped(inserts)
        timed = self.timeline.timed
        starts = warp(np.array([one["ts"] for one in timed], np.int64))
        ends = warp(np.array([one["ts"] + one.get("dur", 0) for one in timed], np.int64))
        for one, start, end in zip(timed, starts.tolist(), ends.tolist(), strict=True):
            one["ts"] = start
            if "dur" in one:
                one["dur"] = max(0, end - start)
        bounds = warp(np.array(self.steps, np.int64).reshape(-1))
        self.steps = [(int(a), int(b)) for a, b in bounds.reshape(-1, 2)]

    def delay_host(self, delays: Sequence[tuple[int, int]]) -> None:
        """Let the host stand still at moments for so long: what it launches afterwards runs as much later.

        What it launched before runs as it did, however long the device is behind.
        """
        warp = warped([(moment, moment + 1, extra) for moment, extra in delays])
        moments, extras = (np.array(one, np.int64) for one in zip(*sorted(delays), strict=True))
        sums = np.append(0, np.cumsum(extras))
        launches = {key: one["ts"] for key, one in self.launches().items()}
        work = self.work()
        called = [launches.get(correlation(one), -1) for one in work]
        # What none launched comes as late as what ran before it.
        late = np.where(np.array(called) >= 0, sums[np.searchsorted(moments, called)], 0)
        late = np.maximum.accumulate(late)
        starts = np.array([one["ts"] for one in work], np.int64)
        by_key = {str(correlation(one)): int(by) for one, by in zip(work, late, strict=True)}

        def on_devices(at: int) -> int:
            return at + int(late[min(int(np.searchsorted(starts, at)), late.size - 1)])

        busy = {id(one): int(by) for one, by in zip(work, late, strict=True)}
        for one in self.timeline.timed:
            if id(one) in busy:
                one["ts"] += busy[id(one)]
            elif on_device(one):
                end = one["ts"] + one.get("dur", 0)
                one["ts"] = on_devices(one["ts"])
                if "dur" in one:
                    one["dur"] = max(0, on_devices(end - 1) + 1 - one["ts"])
            elif one.get("ph") in ("f", "t") and str(one.get("id")) in by_key:
                one["ts"] += by_key[str(one["id"])]
            else:
                start, end = warp(np.array([one["ts"], one["ts"] + one.get("dur", 0)], np.int64)).tolist()
                one["ts"] = start
                if "dur" in one:
                    one["dur"] = max(0, end - start)
        self.steps = [(on_devices(start), on_devices(end)) for start, end in self.steps]

    def quiet(self, first: int, last: int) -> int:
        """The middle of the longest stretch in which no thread is in an operator or a call, which would be longer."""
        wanted = ("cpu_op", "operator", "cuda_runtime", "runtime")
        ends, best = first, (0, (first + last) // 2)
        for one in self.host(lambda one: category(one) in wanted):
            if one["ts"] + one["dur"] < first or one["ts"] > last:
                continue
            best = max(best, (one["ts"] - ends, (one["ts"] + ends) // 2))
            ends = max(ends, one["ts"] + one["dur"])
        return best[1]

    def host_step(self, number: int) -> tuple[int, int]:
        """The stretch in which a step's work is launched: from its first launch to its last."""
        start, end = self.steps[number]
        launches = self.launches()
        calls = [
            call["ts"]
            for one in self.work()
            if start <= one["ts"] < end and (call := launches.get(correlation(one))) is not None
        ]
        return (min(calls), max(calls)) if calls else (start, end)

    def jitter(self, seed: int, step: float = 0.004, within: float = 0.02) -> None:
        """Let every step take another time: it as a whole, and each fiftieth of it."""
        random = np.random.default_rng(seed)
        inserts: list[Insert] = []
        for start, end in self.steps:
            whole = random.normal(0, step)
            edges = np.linspace(start, end, 51).astype(np.int64).tolist()
            factors = whole + random.normal(0, within, 50)
            inserts += [
                (a, b, int((b - a) * max(-0.5, one))) for a, b, one in zip(edges, edges[1:], factors, strict=False)
            ]
        self.insert(inserts)

    def boundaries(self, first: int, last: int, number: int, awaited: bool = False) -> list[int]:
        """Moments in a stretch at which no activity of a device runs, evenly spread; fewer where there are few.

        Args:
            first: Start of the stretch.
            last: Its end.
            number: How many, at most.
            awaited: Only moments before the launch of the next activity, at which the device waits for the host.
        """
        launches = self.launches() if awaited else {}
        ends, found = first, []
        for one in self.work():
            if one["ts"] < first:
                ends = max(ends, one["ts"] + one["dur"])
            elif one["ts"] < last:
                until = one["ts"]
                if awaited:
                    call = launches.get(correlation(one))
                    until = min(until, call["ts"] if call is not None else ends)
                if until > ends + 2:
                    # Before a launch the host has left its last call.
                    found.append(until - 2 if awaited else (ends + until) // 2)
                ends = max(ends, one["ts"] + one["dur"])
        if not found:
            return []
        at = np.linspace(0, len(found) - 1, min(number, len(found))).astype(int)
        return [found[i] for i in dict.fromkeys(at.tolist())]

    def main_thread(self) -> Event:
        """A call on the thread that launches most."""
        calls = [one for one in self.host(is_runtime) if "launch" in str(one["name"]).lower()]
        calls = calls or self.host(lambda one: category(one) in ("cpu_op", "operator"))
        threads = [(one["pid"], one["tid"]) for one in calls]
        most = max(set(threads), key=threads.count)
        return next(one for one, thread in zip(calls, threads, strict=True) if thread == most)

    def idle_at(self, moments: Sequence[int]) -> float:
        """Share of moments at which no activity of a device runs."""
        return float(np.mean(self.idle(moments)))

    def idle(self, moments: Sequence[int]) -> list[bool]:
        """For each moment whether no activity of a device runs at it."""
        work, wanted = self.work(), np.array(moments, np.int64)
        starts = np.array([one["ts"] for one in work], np.int64)
        ends = np.maximum.accumulate(np.array([one["ts"] + one["dur"] for one in work], np.int64))
        at = np.searchsorted(starts, wanted, side="right") - 1
        found: list[bool] = ((at < 0) | (ends[np.maximum(at, 0)] <= wanted)).tolist()
        return found

    def awaited_threads(self, moments: Sequence[int]) -> list[Event]:
        """For each moment a call on the thread whose launch the device waits for: that of the next activity."""
        launches, starts, calls, main = self.launches(), [], [], self.main_thread()
        for one in self.work():
            call = launches.get(correlation(one))
            if call is not None:
                starts.append(one["ts"])
                calls.append(call)
        at = np.searchsorted(np.array(starts, np.int64), np.array(moments, np.int64))
        return [calls[i] if i < len(calls) else main for i in at.tolist()]

    def add(self, like: Event, name: str, start: int, dur: int, **changes: Any) -> Event:
        """Add an event on the track of another one."""
        event = {**like, "name": name, "ts": start, "dur": dur, "args": {**(like.get("args") or {})}, **changes}
        self.timeline.events.append(event)
        return event

    def remove(self, events: Sequence[Event]) -> None:
        """Drop device activities with what ties them and their launches, but for those of a graph that has others."""
        launches = self.launches()
        gone = {id(one) for one in events}
        keys = {correlation(one) for one in events} - {correlation(one) for one in self.work() if id(one) not in gone}
        gone |= {id(launches[key]) for key in keys if key in launches}
        ties = {str(key) for key in keys}
        self.timeline.events = [
            one
            for one in self.timeline.events
            if id(one) not in gone and not (one.get("ph") in ("s", "f", "t") and str(one.get("id")) in ties)
        ]

    def save(self, path: Path) -> Path:
        """Write it."""
        self.timeline.save(path)
        return path


def correlation(event: Event) -> Any:
    """What ties a launch to its work."""
    args = event.get("args") or {}
    return args.get("correlation", args.get("External id", args.get("external id")))


def _steps(source: Path, origin: int) -> list[tuple[int, int]]:
    """The complete steps of a recording on its devices, in its own times."""
    with open_trace(source, Options()) as trace:
        one = trace.rank(trace.ranks[0])
        steps = Steps.of(one)
        first = int(one.scalar("SELECT min(ts) FROM spans") or 0)
        kept = steps.found & ~steps.partial
        windows = zip(steps.start[kept].tolist(), steps.end[kept].tolist(), strict=True)
        return [(start - first + origin, end - first + origin) for start, end in windows]


def warped(inserts: Sequence[Insert]) -> Callable[[Any], Any]:
    """The map of moments that puts time in; a monotone one, linear between its corners.

    Moments may be ns since 1970, of which floating point keeps 256 at best: what is interpolated is the time since the
    first corner.
    """
    slopes: dict[int, float] = {}
    for start, end, extra in inserts:
        length = max(1, end - start)
        slopes[start] = slopes.get(start, 0.0) + extra / length
        slopes[start + length] = slopes.get(start + length, 0.0) - extra / length
    corners = sorted(slopes)
    if not corners:
        return lambda moments: moments
    shift, slope, shifts = 0.0, 0.0, []
    for i, corner in enumerate(corners):
        if i:
            shift += slope * (corner - corners[i - 1])
        shifts.append(shift)
        slope += slopes[corner]
    since = [corner - corners[0] for corner in corners]
    return lambda moments: moments + np.interp(moments - corners[0], since, shifts).round().astype(np.int64)
