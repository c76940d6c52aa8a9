"""Defects of times: values that parse but are impossible."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

from stepscope.simulate.defects.document import Damaged, Document, number, with_number

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def zero_times(data: bytes) -> Damaged:
    """Start and duration are 0.000 in every other interval."""
    document = Document.parse(data)
    chosen = document.find(every=2)
    return _changed(
        document.map(lambda e: with_number(with_number(e, "ts", 0), "dur", 0), chosen),
        chosen,
        "the others are right; these have no time",
    )


def zero_kernel_times(data: bytes) -> Damaged:
    """Device activities without a start time."""
    document = Document.parse(data)
    chosen = document.find(*_DEVICE, every=4)
    return _changed(
        document.map(lambda e: with_number(e, "ts", 0), chosen), chosen, "these activities have no place in time"
    )


def absolute_times(data: bytes) -> Damaged:
    """Unix µs with nanosecond decimals and no base: 19 digits, more than a double holds."""
    document = Document.parse(data)
    base = json.loads(data)["baseTimeNanoseconds"]

    def shift(event: str) -> str:
        return with_number(event, "ts", number(event, "ts") + base)

    chosen = [i for i, event in enumerate(document.events) if re.search(r'"ts": \d+\.\d{3}', event)]
    document = document.map(shift, chosen)
    head = re.sub(r'  "baseTimeNanoseconds": \d+,\n', "", document.head)
    return _changed(replace(document, head=head), chosen, "all are right if read as decimal digits")


def overflowing_durations(data: bytes) -> Damaged:
    """Ends before starts, with the difference stored as an unsigned number."""
    document = Document.parse(data)
    chosen = document.find("kernel", every=6)
    return _changed(
        document.map(lambda e: with_number(e, "dur", (1 << 64) - 1_952), chosen),
        chosen,
        "these kernels have no duration",
    )


def negative_durations(data: bytes) -> Damaged:
    """Intervals that end before they start."""
    document = Document.parse(data)
    chosen = document.find("cpu_op", "kernel", every=6)
    return _changed(
        document.map(lambda e: with_number(e, "dur", -number(e, "dur") - 1), chosen),
        chosen,
        "these intervals have no duration",
    )


def unclosed_frames(data: bytes) -> Damaged:
    """Python frames that were closed only when the profiler stopped."""
    document = Document.parse(data)
    stop = max(number(document.events[i], "ts") + number(document.events[i], "dur") for i in document.find())
    chosen = document.find("python_function", every=3)
    return _changed(
        document.map(lambda e: with_number(e, "dur", stop - number(e, "ts")), chosen),
        chosen,
        "these frames last until the recording's end",
    )


def overlapping_kernels(data: bytes) -> Damaged:
    """Kernels that start before the one before them on the stream has ended (programmatic dependent launch)."""
    document = Document.parse(data)
    streams: dict[str, list[int]] = defaultdict(list)
    for index in document.find("kernel"):
        stream = re.search(r'"tid": (\d+)', document.events[index])
        streams[stream[1] if stream else ""].append(index)
    longer: dict[str, str] = {}
    chosen = []
    for indices in streams.values():
        ordered = sorted(indices, key=lambda i: number(document.events[i], "ts"))
        for first, second in list(pairwise(ordered))[::3]:
            event, after = document.events[first], document.events[second]
            length = number(after, "ts") - number(event, "ts") + max(1, number(after, "dur") // 2)
            longer[event] = with_number(event, "dur", max(length, number(event, "dur")))
            chosen.append(first)
    return _changed(document.map(longer.__getitem__, chosen), chosen, "all are right; unions count them once")


def crossing_intervals(data: bytes) -> Damaged:
    """Operators that end after the one in which they started."""
    document = Document.parse(data)
    chosen = document.find("cpu_op", every=7)
    return _changed(
        document.map(lambda e: with_number(e, "dur", number(e, "dur") + 40_000), chosen),
        chosen,
        "all are there; these do not nest",
    )


def _changed(document: Document, chosen: list[int], note: str) -> Damaged:
    count = len(document.events)
    return Damaged(document.bytes(), count, count, len(chosen), note)
