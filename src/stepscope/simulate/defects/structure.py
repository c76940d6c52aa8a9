"""Defects of structure: events cut off, duplicated or in another place than the format says."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.defects.document import Damaged, Document, number, with_name, with_number


def truncated(data: bytes) -> Damaged:
    """The file ends in the middle of an event, as after a full disk or a killed process."""
    document = Document.parse(data)
    keep = len(document.events) * 3 // 5
    half = document.events[keep][: len(document.events[keep]) // 2]
    text = document.head + ",\n".join((*document.events[:keep], half))
    return Damaged(text.encode(), len(document.events), keep, 1, "all events before the cut")


def truncated_between(data: bytes) -> Damaged:
    """The file ends after the comma between two events."""
    document = Document.parse(data)
    keep = len(document.events) * 3 // 5
    text = document.head + "".join(event + ",\n" for event in document.events[:keep])
    return Damaged(text.encode(), len(document.events), keep, 0, "all events before the cut")


def bare_list(data: bytes) -> Damaged:
    """A list of events without the object around it."""
    document = Document.parse(data)
    text = "[\n" + ",\n".join(document.events) + "\n]\n"
    return _whole(document, text, "all are right; device, rank and time base are unknown")


def events_first(data: bytes) -> Damaged:
    """The events are the object's first field."""
    document = Document.parse(data)
    before = document.head.removeprefix("{\n").removesuffix('  "traceEvents": [\n')
    after = document.tail.removeprefix("\n  ],\n")
    text = '{\n  "traceEvents": [\n' + ",\n".join(document.events) + "\n  ],\n" + before + after
    return _whole(document, text, "nothing is lost")


def events_last(data: bytes) -> Damaged:
    """The events are the object's last field."""
    document = Document.parse(data)
    text = document.head + ",\n".join(document.events) + "\n  ]\n}\n"
    return _whole(document, text, "nothing is lost but the trace's name")


def duplicated(data: bytes) -> Damaged:
    """Some events occur twice."""
    document = Document.parse(data)
    chosen = document.find(every=5)
    events = [*document.events]
    events[-1:-1] = [document.events[i] for i in chosen]
    twice = replace(document, events=tuple(events))
    count = len(events)
    return Damaged(twice.bytes(), count, count, len(chosen), "the copies say nothing new")


def leaked_warmup(data: bytes) -> Damaged:
    """Work from before the first step is recorded, its launches are not."""
    document = Document.parse(data)
    chosen = document.find("kernel", every=8)
    starts = [number(document.events[i], "ts") for i in document.find("user_annotation")]
    first = min(starts, default=number(document.events[document.find()[0]], "ts"))
    leaked = []
    for place, index in enumerate(chosen):
        event = with_number(document.events[index], "ts", first - 50_000_000 + 20_000 * place)
        leaked.append(event.replace('"correlation": ', '"correlation": 9', 1))
    events = (*leaked, *document.events)
    early = replace(document, events=events)
    return Damaged(early.bytes(), len(events), len(events), len(leaked), "these belong to no step")


def empty(data: bytes) -> Damaged:
    """A recording without any event."""
    document = Document.parse(data)
    count = len(document.events)
    return Damaged((document.head + document.tail.lstrip("\n")).encode(), count, 0, count, "nothing usable")


def no_device(data: bytes) -> Damaged:
    """Nothing of the device was recorded."""
    document = Document.parse(data)
    gone = set(document.find("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"))
    kept = tuple(event for i, event in enumerate(document.events) if i not in gone and '"ac2g"' not in event)
    return _whole(replace(document, events=kept), replace(document, events=kept).bytes().decode(), "host events only")


def odd_names(data: bytes) -> Damaged:
    """Names that would be markup or a formula if they were not escaped; the JSON is valid."""
    document = Document.parse(data)
    chosen = document.find("cpu_op", every=4)
    odd = "<img src=x onerror=alert(1)>=1+1|\u202e\\u0000"
    document = document.map(lambda e: with_name(e, lambda name: f"{odd}{name}"), chosen)
    return replace(_whole(document, document.bytes().decode(), "all are right"), touched=len(chosen))


def _whole(document: Document, text: str, note: str) -> Damaged:
    count = len(document.events)
    return Damaged(text.encode(), count, count, 0, note)
