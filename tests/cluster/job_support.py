"""Jobs made of a few durations, as the tables about all ranks see them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stepscope.cluster.job import JobParts
from stepscope.model.recording import Recording
from stepscope.signals.communication.rank_times import RankTimes

#: A step of 10 ms in which a rank computes 6 ms, idles 1 ms and waits for the rest.
TIMES = RankTimes(2, 10_000_000, 6_000_000, 3_000_000, 0, 1_000_000)


def calls(rank, durations, stops, group="0", name="all_reduce", size=1 << 20) -> dict[str, Any]:
    """Calls of one collective after the other, with these durations and ends, in the typical steps of `TIMES`."""
    number = len(durations)
    return {
        "rank": np.full(number, rank, np.int32), "event": np.arange(number), "device": np.zeros(number, np.int32),
        "group": np.array([group] * number), "collective": np.array([name] * number), "bytes": np.full(number, size),
        "dur": np.array(durations, np.int64), "held": np.array(durations, np.int64),
        "stop": np.array(stops, np.int64), "typical": np.ones(number, np.bool_),
        "key": np.arange(number), "step": np.arange(number) % TIMES.steps,
    }  # fmt: skip


def job(durations, stops=None, *, hosts=None, times=None, groups=None, named=None) -> JobParts:
    """A job whose ranks call collectives of these durations, in the groups `named`, or all in one."""
    parts, made_of = JobParts(), {}
    for rank, row in enumerate(durations):
        recording = Recording(f"{rank}", "kineto", rank, len(durations), (hosts or {}).get(rank), 10**18)
        ends = stops[rank] if stops is not None else np.arange(len(row)) * 10**6
        made = calls(rank, row, ends, (named or {}).get(rank, "0"))
        parts.add(rank, recording, made, (groups or {}).get(rank, []))
        parts.times[rank] = (times or {}).get(rank, TIMES)
        made_of[rank] = made
    for rank, made in made_of.items():
        parts.times[rank] = waiting(parts.times[rank], parts, made)
    return parts


def waiting(times: RankTimes, parts: JobParts, made: dict[str, Any]) -> RankTimes:
    """Times with what a rank waits in its collectives, behind none of which it computes."""
    shortest, _ = parts.collectives.of(made)
    waits: dict[int, int] = dict.fromkeys(range(times.steps), 0)
    for step, ns in zip((made["step"] % times.steps).tolist(), (made["dur"] - shortest).tolist(), strict=True):
        waits[step] += ns
    waited = sum(waits.values()) // times.steps
    return replace(times, waited_ns=waited, held_ns=waited, waits=tuple(waits.items()))
