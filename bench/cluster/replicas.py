"""A job of many ranks made of one rank's recording: equal ranks, of which one may be changed and waited for.

All ranks begin as the same recording, so that nobody waits for anybody. What is put into one rank moves its
collectives; on the others these end when they do there, and nothing else changes but what comes after: computing goes
on beside them as it did, and what follows their end is later. So the truth is exact: each step is longer by what was
put in.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.comparing.trace import Insert, PlantedTrace, warped
from bench.kineto_json import Event
from bench.recordings.variants.kineto import category, on_device
from stepscope.model.kernel_names import classify

#: What tells of a group's ranks in the arguments of a collective.
_RANKS, _SIZE, _GROUP = "Process Group Ranks", "Group size", "Process Group Name"
#: Calls in which the host waits for its device.
_WAITS: Final = re.compile(r"Synchronize|MemcpyWithStream|cudaMemcpy$")


class Replicas:
    """Ranks with the same recording.

    Attributes:
        ranks: The recording of each, to be changed in place.
    """

    def __init__(self, one: PlantedTrace, number: int) -> None:
        """Copy a recording so many times."""
        one.timeline.events = [event for event in one.timeline.events if category(event) != "python_function"]
        self.ranks = [one.copy() for _ in range(number)]
        for trace in self.ranks:  # copies may share what lies within events
            trace.timeline.events = deepcopy(trace.timeline.events)
        for rank, trace in enumerate(self.ranks):
            _as_rank(trace, rank, number)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """The typical steps, as they are on all ranks."""
        return self.ranks[0].steps

    def delay(self, culprit: int, inserts: Sequence[Insert]) -> int:
        """Put time into one rank, between its collectives, for which the others wait in these.

        Returns:
            How much of it lies in steps and before the last collective, per step, in ns.
        """
        late = self.ranks[culprit]
        early = sum(extra for start, _, extra in inserts if start < late.steps[0][0])
        before = [(one["ts"], one["dur"]) for one in collectives(late)]
        late.insert(inserts)
        moved = collectives(late)
        for one, (_, dur) in zip(moved, before, strict=True):
            # Its own collectives move as much data as before, also where computing beside them takes longer.
            one["dur"] = dur
        ends = [one["ts"] + one["dur"] for one in moved]
        for rank, trace in enumerate(self.ranks):
            if rank != culprit:
                wait(trace, ends)
        begun, dur = before[-1]
        return (ends[-1] - begun - dur - early) // max(len(late.steps), 1)

    def save(self, folder: Path) -> Path:
        """Write a file for each rank."""
        folder.mkdir(parents=True, exist_ok=True)
        for rank, trace in enumerate(self.ranks):
            trace.save(folder / f"rank{rank}.pt.trace.json")
        return folder


def collectives(trace: PlantedTrace) -> list[Event]:
    """Collectives on the devices, in order of time."""
    return trace.work(lambda one: category(one) == "kernel" and classify(str(one["name"])).op_class == "collective")


def regroup(replicas: Replicas, size: int) -> None:
    """Let neighbours communicate in groups of this size instead of all together."""
    for rank, trace in enumerate(replicas.ranks):
        first = rank // size * size
        members = list(range(first, first + size))
        name = str(1 + rank // size)
        trace.timeline.head["distributedInfo"]["pg_config"] = [_described(name, members)]
        for event in trace.timeline.events:
            args = event.get("args") or {}
            if _GROUP in args:
                args |= {_GROUP: name, _RANKS: str(members), _SIZE: size}


def _as_rank(trace: PlantedTrace, rank: int, number: int) -> None:
    members = list(range(number))
    head = trace.timeline.head = dict(trace.timeline.head)  # which copies share
    head["distributedInfo"] = {
        **head.get("distributedInfo", {}), "rank": rank, "world_size": number,
        "pg_config": [_described("0", members)],
    }  # fmt: skip
    for event in trace.timeline.events:
        args = event.get("args") or {}
        if _RANKS in args:
            args |= {_RANKS: str(members), _SIZE: number}


def _described(name: str, members: list[int]) -> dict[str, Any]:
    return {
        "pg_name": name, "pg_desc": "default_pg" if name == "0" else "undefined", "backend_config": "cuda:nccl",
        "pg_size": len(members), "ranks": members,
    }  # fmt: skip


def wait(trace: PlantedTrace, ends: Sequence[int]) -> None:
    """Let collectives end at these moments, and what comes after them later."""
    mine = collectives(trace)
    marked = {id(one): one for one in mine}
    old = [(one["ts"], one["ts"] + one["dur"]) for one in mine]
    computing = sorted((one["ts"], one["ts"] + one["dur"]) for one in trace.work() if id(one) not in marked)
    inserts, shift = list[Insert](), 0
    for (_, end), late in zip(old, ends, strict=True):
        moment = _after(computing, end)
        if moment is not None and late - end > shift:
            inserts.append((moment, moment + 1, late - end - shift))
            shift = late - end
    _shift(trace, inserts)
    previous = 0
    for one, (start, end), late in zip(mine, old, ends, strict=True):
        begun = start + sum(extra for at, _, extra in inserts if at < start)
        one["ts"] = max(begun, previous)
        one["dur"] = max(late - one["ts"], end - start if late == end else 1)
        previous = one["ts"] + one["dur"]


def _shift(trace: PlantedTrace, inserts: Sequence[Insert]) -> None:
    """Let devices wait at these moments, and the host in the next call that waits for its device."""
    calls = [
        (one["ts"], one["ts"] + one["dur"]) for one in trace.host(lambda one: bool(_WAITS.search(str(one["name"]))))
    ]
    ends = [stop for _, stop in calls]
    waits = list[Insert]()
    for moment, _, extra in inserts:
        at = bisect_left(ends, moment + 1)
        if at < len(calls):
            begun = max(calls[at][0], moment)
            waits.append((begun, begun + 1, extra))
    on, off = warped(inserts), warped(waits)
    for one in trace.timeline.timed:
        warp = on if on_device(one) else off
        start, stop = warp(np.array([one["ts"], one["ts"] + one.get("dur", 0)], np.int64)).tolist()
        one["ts"] = start
        if "dur" in one:
            one["dur"] = max(0, stop - start)
    bounds = on(np.array(trace.steps, np.int64).reshape(-1))
    trace.steps = [(int(a), int(b)) for a, b in bounds.reshape(-1, 2)]


def _after(computing: Sequence[tuple[int, int]], end: int) -> int | None:
    """The moment before what waits for a collective that ends then; None where computing goes on beside it."""
    at = bisect_left(computing, (end, 0))
    if any(stop > end for _, stop in computing[max(0, at - 64) : at]):
        return None
    return (computing[at][0] if at < len(computing) else end + 1) - 1


def stretched(trace: PlantedTrace, factor: float) -> list[Insert]:
    """What makes kernels that run beside no collective take so many times as long."""
    busy = np.array([(one["ts"], one["ts"] + one["dur"]) for one in collectives(trace)], np.int64).reshape(-1, 2)
    inserts = list[Insert]()
    for one in trace.kernels():
        start, stop = one["ts"], one["ts"] + one["dur"]
        alone = not bool(np.any((busy[:, 0] < stop) & (busy[:, 1] > start)))
        if alone and one["dur"] > 1 and not (inserts and start < inserts[-1][1]):
            inserts.append((start, stop, round(one["dur"] * (factor - 1))))
    return inserts
