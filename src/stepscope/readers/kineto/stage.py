"""Stage parsed events, interpreting Kineto's categories and arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.model.categories import CATEGORIES
from stepscope.readers.kineto import sql, work_sql
from stepscope.readers.kineto.chunk_buffer import NONE, ChunkBuffer, column
from stepscope.readers.kineto.event_kinds import EventKinds
from stepscope.readers.kineto.interned import Interned
from stepscope.readers.kineto.slices import Slices, string_slices
from stepscope.store.inputs import TEXT_COLUMNS
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CATEGORIES: Final = pa.array(CATEGORIES)


class Stager:
    """Stages the events of a trace, chunk by chunk."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._names = EventKinds(staging)
        self._tracks = Interned()
        self._track_ids = np.zeros(0, np.int32)
        self._inputs = Interned()
        for statement in sql.TABLES:
            staging.connection.execute(statement)

    def __call__(self, buffer: ChunkBuffer) -> None:
        """Stage the buffer's chunk."""
        parsed, names = buffer.parsed, self._names
        span = np.flatnonzero(parsed.is_span)
        name = self._name_numbers(buffer, span)
        if (ours := names.ours[name]).any():
            parsed.is_span[span[ours]] = False
            span, name = span[~ours], name[~ours]
        tracks = self._track_numbers(buffer, span, names.on_device[name])
        args = _arguments(buffer)
        category = names.categories.take(name)
        correlation = column(parsed.table, "correlation").take(span)
        external = column(parsed.table, "external_id").take(span)
        dur = np.where(parsed.phase.take(span) == ord("X"), parsed.dur.take(span), NONE)
        self._insert(
            buffer, sql.EVENTS, "spans",
            id=parsed.ids.take(span), ts=parsed.ts.take(span), dur=_nullable(dur), track=tracks,
            name_id=names.name_ids.take(name),
            category=pa.DictionaryArray.from_arrays(pa.array(category), _CATEGORIES),
            correlation=_nullable(correlation), external_id=_nullable(external),
        )  # fmt: skip
        self._stage_collectives(buffer, span, name, args)
        self._stage_work(buffer, span, name, args)
        self._stage_inputs(buffer, span[names.with_inputs[name]])
        self._stage_others(buffer, args)
        if np.any(names.is_work[name] & (correlation <= 0)):
            # Device work without a correlation id.
            buffer.statements.show("segments", buffer.texts.table())
            buffer.statements.run(work_sql.LAUNCH_FLOWS)
        self._stage_arguments(buffer, args)

    def _name_numbers(self, buffer: ChunkBuffer, span: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each interval's (category, name) pair in `EventKinds`."""
        keys = column(buffer.parsed.table, "name_key").take(span)
        numbers, new = self._names.keys.find_with_new(keys)
        if not new.size:
            return numbers
        texts = _texts(buffer, span[new])
        self._names.add(keys[new], list(zip(_list(texts, "cat"), _list(texts, "name"), strict=True)))
        return self._names.keys.find(keys)

    def _track_numbers(
        self, buffer: ChunkBuffer, rows: NDArray[np.int64], on_device: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Row of `tracks` of each event, int32[n]: a device queue, or a thread of a process."""
        keys = column(buffer.parsed.table, "track_key").take(rows) * np.uint64(2) + on_device
        numbers, new = self._tracks.find_with_new(keys)
        if new.size:
            texts = _texts(buffer, rows[new])
            fields = zip(*(_list(texts, name) for name in ("process", "thread", "device", "stream")), strict=True)
            found = [
                self._track(bool(is_device), *field) for is_device, field in zip(on_device[new], fields, strict=True)
            ]
            self._tracks.add(keys[new])
            self._track_ids = np.append(self._track_ids, np.array(found, np.int32))
            numbers = self._tracks.find(keys)
        return self._track_ids.take(numbers)

    def _track(self, on_device: bool, process: str, thread: str, device: int | None, stream: str) -> int:
        if not on_device:
            return self._staging.track("host", process=process, thread=thread)
        recorded = device if device is not None else _integer(process)
        number = recorded if recorded is not None and abs(recorded) < 2**31 else None
        return self._staging.track("device", device=number, stream=stream)

    def _stage_collectives(
        self, buffer: ChunkBuffer, span: NDArray[np.int64], name: NDArray[np.int64], args: Slices
    ) -> None:
        """Stage collectives described by device work or host operators."""
        chosen = np.flatnonzero(
            column(buffer.parsed.table, "is_collective").take(span) & self._names.describes.take(name)
        )
        if chosen.size:
            rows = span.take(chosen)
            self._insert(
                buffer, work_sql.COLLECTIVES, "described",
                i=buffer.parsed.ids.take(rows), is_work=self._names.is_work.take(name.take(chosen)),
                args=args.take(rows).array,
            )  # fmt: skip

    def _stage_work(self, buffer: ChunkBuffer, span: NDArray[np.int64], name: NDArray[np.int64], args: Slices) -> None:
        """Stage device work."""
        chosen = np.flatnonzero(self._names.is_work.take(name))
        if not chosen.size:
            return
        rows, names = span[chosen], name[chosen]
        self._insert(
            buffer, work_sql.KERNELS, "details",
            i=buffer.parsed.ids[rows], args=args.take(rows).array, **self._names.details(names),
        )  # fmt: skip
        if self._names.is_copy[names].any():
            buffer.statements.run(work_sql.COPIES)

    def _stage_inputs(self, buffer: ChunkBuffer, rows: NDArray[np.int64]) -> None:
        """Stage inputs of operators, each text once."""
        keys = column(buffer.parsed.table, "text_key").take(rows)
        rows, keys = rows[keys > 0], keys[keys > 0]
        if not rows.size:
            return
        numbers, new = self._inputs.find_with_new(keys)
        if new.size:
            texts = _texts(buffer, rows[new]).select(sql.INPUT_TEXTS).rename_columns(TEXT_COLUMNS)
            added = np.arange(len(self._inputs), len(self._inputs) + new.size, dtype=np.int32)
            self._staging.insert("input_texts", texts.append_column("texts", pa.array(added)))
            self._inputs.add(keys[new])
            numbers = self._inputs.find(keys)
        table = buffer.parsed.table
        self._insert(
            buffer, sql.INPUTS, "calls",
            event=buffer.parsed.ids[rows], texts=numbers,
            sequence=_nullable(column(table, "sequence")[rows]),
            forward_thread=_nullable(column(table, "forward_thread")[rows]),
        )  # fmt: skip

    def _stage_others(self, buffer: ChunkBuffer, args: Slices) -> None:
        """Stage events that are no intervals."""
        parsed = buffer.parsed
        instant = (parsed.phase == ord("i")) | (parsed.phase == ord("I"))
        allocations = np.flatnonzero(instant & ~parsed.is_span & (parsed.ts != NONE))
        if allocations.size:
            tracks = self._track_numbers(buffer, allocations, np.zeros(allocations.size, np.bool_))
            self._insert(
                buffer, sql.MEMORY, "allocations",
                ts=parsed.ts[allocations], track=tracks, args=args.take(allocations).array,
            )  # fmt: skip
        for phases, statement in sql.BY_PHASE.items():
            ids = parsed.having(phases)
            if ids.size:
                buffer.choose(ids)
                buffer.statements.run(statement("chosen", exact=buffer.exact))

    def _stage_arguments(self, buffer: ChunkBuffer, args: Slices) -> None:
        parsed = buffer.parsed
        rows = np.flatnonzero((parsed.is_span | (parsed.phase == ord("B"))) & (args.length >= 0))
        buffer.statements.show("arguments", pa.table({"id": parsed.ids[rows], "args": args.take(rows).array}))
        self._staging.add_args("SELECT id, args FROM arguments", buffer.statements.connection)

    def _insert(self, buffer: ChunkBuffer, statement: str, relation: str, **columns: Any) -> None:
        buffer.statements.show(relation, pa.table(columns))
        buffer.statements.run(statement)


def _texts(buffer: ChunkBuffer, rows: NDArray[np.int64]) -> pa.Table:
    """Recorded texts of the rows, which ascend."""
    buffer.choose(buffer.parsed.ids[rows])
    return buffer.statements.table(sql.texts_sql("chosen"))


def _arguments(buffer: ChunkBuffer) -> Slices:
    """The arguments of each parsed row."""
    parsed = buffer.parsed
    known = buffer.texts.args.take(buffer.texts.positions(parsed.ids))
    found = parsed.table["found_args"]
    return known.or_else(string_slices(found.chunk(0))) if found.num_chunks else known


def _nullable(values: NDArray[np.int64]) -> pa.Array:
    return pa.array(values, mask=values == NONE)


def _list(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table[name].to_pylist()
    return values


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
