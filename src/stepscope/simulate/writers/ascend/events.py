"""Single events of ``trace_view.json`` as text, with fields in the order of the profiler's two writers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import micros

Row = tuple[int, int]  # process and thread of the trace


def framework(cat: str, name: str, row: Row, times: tuple[str, int], args: str) -> str:
    """An interval of the framework; ``times`` are the start as text and the length in ns, ``args`` is JSON."""
    return (
        f'{{"ph": "X", "name": {json.dumps(name)}, "pid": {row[0]}, "tid": {row[1]}, "ts": "{times[0]}", '
        f'"dur": {micros(times[1])}, "cat": "{cat}", "args": {args}}}'
    )


def cann(name: str, row: Row, times: tuple[str, int], args: str = "") -> str:
    """An interval of CANN or of the device."""
    shown = f', "args": {args}' if args else ""
    return (
        f'{{"name": {json.dumps(name)}, "pid": {row[0]}, "tid": {row[1]}, "ts": "{times[0]}", '
        f'"dur": {micros(times[1])}{shown}, "ph": "X"}}'
    )


def flow(end: str, name: str, cat: str, key: int, place: tuple[Row, str]) -> str:
    """An end (``s`` or ``f``) of a flow of the framework."""
    (pid, tid), stamp = place
    return (
        f'{{"ph": "{end}", "bp": "e", "name": "{name}", "id": {key}, "pid": {pid}, "tid": {tid}, '
        f'"ts": "{stamp}", "cat": "{cat}"}}'
    )


def host_to_device(end: str, key: int, place: tuple[Row, str]) -> str:
    """An end of a flow from a call of CANN to its work on the device."""
    (pid, tid), stamp = place
    where = f'"pid": {pid}, "tid": {tid}'
    if end == "s":
        return (
            f'{{"name": "HostToDevice{key}", "ph": "s", "cat": "HostToDevice", "id": "{key}", {where}, '
            f'"ts": "{stamp}"}}'
        )
    return (
        f'{{"name": "HostToDevice{key}", "ph": "f", "id": "{key}", "ts": "{stamp}", "cat": "HostToDevice", '
        f'{where}, "bp": "e"}}'
    )


def counter(name: str, pid: int, stamp: str, values: Mapping[str, float]) -> str:
    """A sample of a counter."""
    return f'{{"name": "{name}", "ts": "{stamp}", "pid": {pid}, "tid": 0, "args": {json.dumps(values)}, "ph": "C"}}'


def process(name: str, pid: int, label: str, order: int) -> list[str]:
    """A process's name, label and place."""
    values: tuple[tuple[str, dict[str, Any]], ...] = (
        ("process_name", {"name": name}), ("process_labels", {"labels": label}),
        ("process_sort_index", {"sort_index": order}),
    )  # fmt: skip
    return [_metadata(kind, (pid, 0), args) for kind, args in values]


def thread(name: str, row: Row, order: int) -> list[str]:
    """A thread's name and place."""
    return [_metadata("thread_name", row, {"name": name}), _metadata("thread_sort_index", row, {"sort_index": order})]


def _metadata(kind: str, row: Row, args: Mapping[str, Any]) -> str:
    return f'{{"ph": "M", "name": "{kind}", "pid": {row[0]}, "tid": {row[1]}, "args": {json.dumps(args)}}}'


class TraceFile:
    """A list of events that grows at two ends: the framework's lies before CANN's."""

    def __init__(self, output: Output) -> None:
        self._rest = output.folder / "trace_view.rest"
        self._front, self._back = output.open("trace_view.json"), output.open(self._rest.name)
        self._front.write("[")
        self._separator = ""

    def framework(self, texts: list[str]) -> None:
        """Append events of the framework."""
        if texts:
            self._front.write(self._separator + ", ".join(texts))
            self._separator = ", "

    def cann(self, texts: list[str]) -> None:
        """Append events of CANN."""
        if texts:
            self._back.write(", " + ", ".join(texts))

    def join(self) -> None:
        """Put both halves together."""
        self._back.close()
        with self._rest.open(encoding="utf-8", newline="") as rest:
            while block := rest.read(1 << 20):
                self._front.write(block)
        self._front.write("]")
        self._rest.unlink()
