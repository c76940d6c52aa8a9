"""Stage events, interpreting Kineto's categories and arguments."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.model.categories import CATEGORIES
from stepscope.readers.kineto import values, work
from stepscope.readers.kineto.event_kinds import EventKinds
from stepscope.readers.kineto.events import NONE, EventBatch, layout
from stepscope.readers.kineto.remembering import Remembering, Texts
from stepscope.store.inputs import TEXT_COLUMNS
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CATEGORIES: Final = pa.array(CATEGORIES)
#: What tells a device queue, in the order in which it counts.
_QUEUES: Final = ("stream", "sycl queue", "l0 queue")
#: Texts that operators may be recorded with; traces of the first generation spell the first one otherwise.
_INPUTS: Final = ("Input Dims", "Input dims", "Input type", "Input Strides", "Concrete Inputs", "Call stack",
                  "Module Hierarchy")  # fmt: skip
_OF_MEMORY: Final = ("Device Type", "Device Id", "Addr", "Bytes", "Total Allocated", "Total Reserved")
#: Categories of traces so old that they write "external id" in lower case.
_OLD: Final = frozenset({"Runtime", "Kernel", "Memcpy", "Memset"})

LAYOUT: Final = layout(
    ("device", *_QUEUES, "Collective name", *_INPUTS, *work.TEXTS),
    ("correlation", "External id", "external id", "Sequence number", "Fwd thread id", *work.INTEGERS, *_OF_MEMORY),
    {
        "kind": ("ph", "cat", "name", "Collective name"),
        "where": ("pid", "tid", "device", *_QUEUES),
        "inputs": _INPUTS,
        "work": work.TEXTS,
    },
)

#: What is staged only when all events are known.
_TABLES: Final = (
    "CREATE TABLE kineto_described (event BIGINT, on_device BOOLEAN, args VARCHAR)",
    "CREATE TABLE kineto_flows (kind VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, pid VARCHAR, tid VARCHAR)",
    "CREATE TABLE kineto_samples (ts BIGINT, pid VARCHAR, name VARCHAR, args VARCHAR)",
    "CREATE TABLE kineto_ends (i BIGINT, ph VARCHAR, ts BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR)",
)


class Stager:
    """Stages the events of a trace, batch by batch."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._kinds = EventKinds(staging)
        self._described = work.Described(work.describe)
        self._inputs: dict[bytes, int] = {}
        self._known_inputs = Remembering(_seen_inputs)
        for statement in _TABLES:
            staging.connection.execute(statement)

    def __call__(self, events: EventBatch) -> None:
        """Stage a batch."""
        pairs = self._kinds.numbers(events.rows.combined["kind"])
        events.is_span[self._kinds.ours[pairs]] = False
        span = np.flatnonzero(events.is_span)
        pair = pairs[span]
        correlation = events.unsigned("correlation")[span]
        self._stage_events(events, span, pair, correlation)
        self._stage_collectives(events, span, pair)
        chosen = np.flatnonzero(self._kinds.is_work[pair])
        if chosen.size:
            work.stage_work(self._staging, events, span[chosen], self._kinds, pair[chosen], self._described)
        self._stage_inputs(events, span[self._kinds.with_inputs[pair]])
        self._stage_allocations(events, pairs)
        self._stage_flows(events, pairs, with_launches=bool(np.any(correlation[chosen] <= 0)))
        self._stage_points(events)
        rows = np.flatnonzero((events.is_span | (events.phase == ord("B"))) & events.has_args())
        self._staging.write_args(pa.table({"id": events.ids[rows], "args": events.args(rows)}))

    def _stage_events(
        self, events: EventBatch, span: NDArray[np.int64], pair: NDArray[np.int64], correlation: NDArray[np.int64]
    ) -> None:
        kinds = self._kinds
        dur = np.where(events.phase[span] == ord("X"), events.dur[span], NONE)
        category = pa.DictionaryArray.from_arrays(pa.array(kinds.categories[pair]), _CATEGORIES)
        self._insert(
            "raw_events", id=events.ids[span], ts=events.ts[span], dur=_nullable(dur),
            track=self._tracks(events, span, kinds.on_device[pair]), name_id=kinds.name_ids[pair], category=category,
            correlation=_nullable(correlation), external_id=_nullable(_external_ids(events)[span]),
        )  # fmt: skip

    def _tracks(
        self, events: EventBatch, rows: NDArray[np.int64], on_device: NDArray[np.bool_]
    ) -> NDArray[np.int32]:  # fmt: skip
        """Row of `tracks` of each event, int32[n]: a device queue, or a thread of a process."""
        where = events.rows.combined["where"]
        number = 2 * where.numbers[rows] + on_device
        tracks = np.zeros(2 * len(where.texts), np.int32)
        used, first = np.unique(number, return_index=True)
        for one in used[np.argsort(first)].tolist():  # numbered in the order of the recording
            tracks[one] = self._track(bool(one & 1), *where.texts[one >> 1])
        return tracks[number]

    def _track(
        self, on_device: bool, pid: bytes | None, tid: bytes | None, device: bytes | None, *queues: bytes | None
    ) -> int:
        process, thread = values.identity(pid), values.identity(tid)
        if not on_device:
            return self._staging.track("host", process=process, thread=thread)
        recorded = values.int64(device)
        if recorded is None and re.fullmatch(r"-?[0-9]{1,9}", process):
            recorded = int(process)
        number = recorded if recorded is not None and abs(recorded) < 2**31 else None
        queue = next((values.text(one) for one in queues if one is not None), None)
        stream = re.sub(r"^stream\s+", "", thread) if queue is None else queue
        return self._staging.track("device", device=number, stream=stream)

    def _stage_collectives(self, events: EventBatch, span: NDArray[np.int64], pair: NDArray[np.int64]) -> None:
        """Stage what may be collectives, described by device work or host operators."""
        kinds = events.rows.combined["kind"]
        named = np.array([one[3] is not None for one in kinds.texts], np.bool_)
        chosen = np.flatnonzero(named[kinds.numbers[span]] & self._kinds.describes[pair])
        if chosen.size:
            rows = span[chosen]
            self._insert(
                "kineto_described", event=events.ids[rows], on_device=self._kinds.is_work[pair[chosen]],
                args=events.args(rows),
            )  # fmt: skip

    def _stage_inputs(self, events: EventBatch, rows: NDArray[np.int64]) -> None:
        """Stage inputs of operators, each text once."""
        inputs = events.rows.combined["inputs"]
        sequence, thread = (events.integers(key)[rows] for key in ("Sequence number", "Fwd thread id"))
        seen = [self._known_inputs(one) for one in inputs.texts]
        has = np.array([says for _, says in seen], np.bool_)
        chosen = has[inputs.numbers[rows]] | (sequence != NONE)
        rows, sequence, thread = rows[chosen], sequence[chosen], thread[chosen]
        if not rows.size:
            return
        numbers, new = np.zeros(len(seen), np.int32), []
        used, first = np.unique(inputs.numbers[rows], return_index=True)
        for one in used[np.argsort(first)].tolist():
            key, _ = seen[one]
            if key not in self._inputs:
                self._inputs[key] = len(self._inputs)
                new.append((self._inputs[key], *_input_texts(inputs.texts[one])))
            numbers[one] = self._inputs[key]
        if new:
            columns = [pa.array(column, pa.string()) for column in [*zip(*new, strict=True)][1:]]
            added = pa.array([one[0] for one in new], pa.int32())
            self._insert("input_texts", texts=added, **dict(zip(TEXT_COLUMNS, columns, strict=True)))
        self._insert(
            "input_calls", event=events.ids[rows], texts=numbers[inputs.numbers[rows]], sequence=_nullable(sequence),
            forward_thread=_nullable(np.where(thread == 0, NONE, thread)),
        )  # fmt: skip

    def _stage_allocations(self, events: EventBatch, pairs: NDArray[np.int64]) -> None:
        instant = (events.phase == ord("i")) | (events.phase == ord("I"))
        rows = np.flatnonzero(instant & ~events.is_span & ~self._kinds.ours[pairs] & (events.ts != NONE))
        if not rows.size:
            return
        kind, device, address, size, allocated, reserved = (events.integers(key)[rows] for key in _OF_MEMORY)
        # Device type 0 is the host. Totals of -1 or 0 stand for "not known" there.
        device = np.where((kind == 0) | (np.abs(device) >= 2**31), NONE, device)
        allocated, reserved = (np.where(total < 0, NONE, total) for total in (allocated, reserved))
        self._insert(
            "raw_memory", ts=events.ts[rows], track=self._tracks(events, rows, np.zeros(rows.size, np.bool_)),
            device=_nullable(device), address=_nullable(address), bytes=_nullable(size),
            allocated=_nullable(allocated), reserved=_nullable(reserved),
        )  # fmt: skip

    def _stage_flows(self, events: EventBatch, pairs: NDArray[np.int64], *, with_launches: bool) -> None:
        """Stage flows; those of launches only if device work has no correlation id, which tells the same."""
        rows = np.flatnonzero(
            np.isin(events.phase, list(b"stf")) & (events.ts != NONE) & (events.rows.numbers["id"] != NONE)
        )
        launches = self._kinds.of_launches[pairs[rows]]
        if not with_launches:
            rows, launches = rows[~launches], launches[~launches]
        if not rows.size:
            return
        cats, names = (events.texts("kind", position, rows).to_pylist() for position in (1, 2))
        kinds = [
            "launch" if launch else "forward_backward" if cat == "fwdbwd" else cat or name or ""
            for cat, name, launch in zip(cats, names, launches.tolist(), strict=True)
        ]
        self._insert(
            "kineto_flows", kind=pa.array(kinds, pa.string()), key=events.keys(rows),
            is_source=events.phase[rows] == ord("s"), ts=events.ts[rows],
            pid=events.identities("where", 0, rows), tid=events.identities("where", 1, rows),
        )  # fmt: skip

    def _stage_points(self, events: EventBatch) -> None:
        """Stage samples of counters, and start and end events of the Chrome format, to be paired when all are known."""
        timed = events.ts != NONE
        rows = np.flatnonzero((events.phase == ord("C")) & timed & events.has_args())
        if rows.size:
            self._insert(
                "kineto_samples", ts=events.ts[rows], pid=events.identities("where", 0, rows),
                name=events.texts("kind", 2, rows).fill_null(""), args=events.args(rows),
            )  # fmt: skip
        rows = np.flatnonzero(((events.phase == ord("B")) | (events.phase == ord("E"))) & timed)
        if rows.size:
            self._insert(
                "kineto_ends", i=events.ids[rows], ph=events.texts("kind", 0, rows), ts=events.ts[rows],
                pid=events.identities("where", 0, rows), tid=events.identities("where", 1, rows),
                cat=events.texts("kind", 1, rows).fill_null(""), name=events.texts("kind", 2, rows).fill_null(""),
            )  # fmt: skip

    def _insert(self, table: str, **columns: Any) -> None:
        self._staging.insert(table, pa.table(columns))


def _external_ids(events: EventBatch) -> NDArray[np.int64]:
    """The id of the operator that each event belongs to."""
    found = events.unsigned("External id")
    old = events.integers("external id")
    if not (old != NONE).any():
        return found
    kinds = events.rows.combined["kind"]
    is_old = np.array([values.text(cat) in _OLD for _, cat, *_ in kinds.texts], np.bool_)[kinds.numbers]
    return np.where((found == NONE) & is_old, old, found)


def _seen_inputs(recorded: Texts) -> tuple[bytes, bool]:
    """What tells inputs from others, and whether they say something."""
    texts = _input_texts(recorded)
    key = hashlib.blake2b(repr(texts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return key, _says_something(texts)


def _input_texts(recorded: Texts) -> tuple[str | None, ...]:
    """Shapes, types, strides and values as JSON without white space, stack and module as texts."""
    shapes, old_shapes, *others, stack, module = recorded
    lists = (values.compact(one) for one in (old_shapes if shapes is None else shapes, *others))
    return (*lists, values.text(stack) or None, values.text(module) or None)


def _says_something(texts: tuple[str | None, ...]) -> bool:
    shapes, dtypes, _, _, stack, module = texts
    return shapes not in (None, "[]") or dtypes not in (None, "[]") or stack is not None or module is not None


def _nullable(column: NDArray[np.int64]) -> pa.Array:
    return pa.array(column, mask=column == NONE)
