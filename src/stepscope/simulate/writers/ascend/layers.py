"""Names and places of the processes and threads of ``trace_view.json``."""

from __future__ import annotations

from stepscope.simulate.writers.ascend import events
from stepscope.simulate.writers.ascend.collectives import planes
from stepscope.simulate.writers.ascend.overlap import ROWS
from stepscope.simulate.writers.ascend.place import (
    CANN,
    COMMUNICATION,
    FREQUENCY,
    GC,
    HARDWARE,
    MEMORY,
    OVERLAP,
    RankPlace,
)


def framework_layers(place: RankPlace) -> list[str]:
    """The process that was profiled; the thread of the queue comes last."""
    texts = events.process("Python", place.pid, "CPU", 0)
    for thread in (*place.threads, place.queue_thread):
        order = thread if thread != place.queue_thread else max(place.threads) + 1
        texts += events.thread(f"Thread {thread}", (place.pid, thread), order)
    if place.job.with_stack and place.job.gc_interval_ops:
        pid = place.process(GC)
        texts += events.process("Python GC", pid, "CPU", GC)
        texts += events.thread("Python GC", (pid, place.pid), place.pid)
    return texts


def cann_layers(place: RankPlace) -> list[str]:
    """The layers that CANN's analysis makes up; level 0 names neither its calls nor the planes of groups."""
    memory = _layer(place, "NPU MEM", MEMORY, []) if place.job.profile_memory else []
    if not place.tasks:
        return memory
    texts = _layer(place, "Ascend Hardware", HARDWARE, [(s, f"Stream {s}") for s in sorted(place.streams)])
    if place.details:
        threads = sorted((*place.threads, place.queue_thread))
        texts += _layer(place, "CANN", CANN, [(thread, f"Thread {thread}") for thread in threads], "CPU")
    if place.job.ranks > 1:
        rows = [(0, "Group 0 Communication")]
        if place.details:
            rows += [(plane + 1, f"Plane {plane}") for plane in range(planes(place.job))]
        texts += _layer(place, "Communication" if place.renamed else "HCCL", COMMUNICATION, rows)
    texts += _layer(place, "AI Core Freq", FREQUENCY, [])
    return texts + memory + _layer(place, "Overlap Analysis", OVERLAP, list(enumerate(ROWS)))


def _layer(place: RankPlace, name: str, layer: int, rows: list[tuple[int, str]], label: str = "NPU") -> list[str]:
    pid = place.process(layer)
    texts = events.process(name, pid, label, layer)
    for row, called in rows:
        texts += events.thread(called, (pid, row), row)
    return texts
