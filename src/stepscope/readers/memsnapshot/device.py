"""Reconstruct one device's events and allocations from its history and final blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stepscope.readers.memsnapshot.clock import Int
from stepscope.readers.memsnapshot.lifetimes import (
    ALLOC,
    BEFORE,
    FREE_COMPLETED,
    FREE_REQUESTED,
    NEVER,
    OTHER,
    Lifetimes,
    lifetimes,
    running,
)

#: CUDACachingAllocator rounds every request up to a multiple of this (kMinBlockSize).
ROUNDING: Final = 512

#: SQL for codes of actions: those of `lifetimes`, then the two that change the reserved memory.
GROWS, SHRINKS = 4, 5
ACTION_SQL: Final = f"""CASE WHEN address IS NULL THEN {OTHER} ELSE CASE action
    WHEN 'alloc' THEN {ALLOC} WHEN 'free_requested' THEN {FREE_REQUESTED}
    WHEN 'free_completed' THEN {FREE_COMPLETED} WHEN 'free' THEN {FREE_REQUESTED}
    WHEN 'segment_alloc' THEN {GROWS} WHEN 'segment_map' THEN {GROWS}
    WHEN 'segment_free' THEN {SHRINKS} WHEN 'segment_unmap' THEN {SHRINKS} ELSE {OTHER} END END::TINYINT"""


@dataclass(frozen=True, slots=True)
class Entries:
    """The history of a device, one element per entry.

    Attributes:
        action: Codes as of `ACTION_SQL`.
        address: First byte; meaningful for actions with an address only.
        bytes: Size; 0 if not recorded.
        stack: Row of `call_stacks`; -1 if none.
        ts: Time in ns.
    """

    action: Int
    address: Int
    bytes: Int
    stack: Int
    ts: Int


@dataclass(frozen=True, slots=True)
class Live:
    """The blocks in use when the snapshot was taken, in any order."""

    address: Int
    bytes: Int
    requested: Int
    stack: Int


@dataclass(slots=True)
class Found:
    """Counts of inconsistencies in one history.

    Attributes:
        lost: Frees of memory whose allocation is not recorded.
        early: Blocks in use whose allocation is not recorded.
        vanished: Allocations without a free whose block is not in use in the end.
        unfreed: Addresses allocated again without a free in between.
    """

    lost: int = 0
    early: int = 0
    vanished: int = 0
    unfreed: int = 0


@dataclass(slots=True)
class DeviceHistory:
    """Rows for `allocations` and `raw_memory` of one device, and counts of inconsistencies."""

    allocations: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    found: Found = field(default_factory=Found)


def reconstruct(entries: Entries, live: Live, reserved: int | None) -> DeviceHistory:
    """Reconstruct allocations and totals of a device from its history and final blocks.

    Args:
        entries: The history, oldest first; may be empty.
        live: The final blocks in use.
        reserved: Bytes of the final segments; None if segments are not recorded.
    """
    pairing = np.where(entries.action < OTHER, entries.action, OTHER)
    life = lifetimes(pairing, entries.address)
    at_end = _match(life, live)
    known = at_end >= 0
    early = np.setdiff1d(np.arange(live.address.size), at_end[known])
    shown = np.where(life.made >= 0, life.made, life.first)
    requested = np.concatenate([entries.bytes[shown], live.requested[early]])
    size = np.maximum(1, -(-requested // ROUNDING)) * ROUNDING
    size[: known.size][known] = live.bytes[at_end[known]]
    size[known.size :] = live.bytes[early]
    made, freed, reusable = (
        np.concatenate([rows, np.full(early.size, rest, np.int64)])
        for rows, rest in ((life.made, BEFORE), (life.freed, NEVER), (life.reusable, NEVER))
    )
    stack = np.concatenate([np.where(life.made >= 0, entries.stack[shown], -1), live.stack[early]])
    device = DeviceHistory()
    device.found = Found(
        lost=int((life.made < 0).sum()),
        early=int(early.size),
        vanished=int(((life.freed == NEVER) & ~known).sum()) if reserved is not None else 0,
        unfreed=life.unfreed,
    )
    device.allocations = {
        "address": np.concatenate([life.address, live.address[early]]),
        "requested": requested,
        "bytes": size,
        "stack": nullable(stack),
        "seq": nullable(made),
        "ts": _times(entries.ts, made),
        "freed_seq": pa.array(np.maximum(freed, -1), mask=freed == NEVER),
        "freed_ts": _times(entries.ts, freed),
        "reusable_seq": nullable(reusable),
        "reusable_ts": _times(entries.ts, reusable),
    }
    if entries.ts.size:
        device.memory = _memory(entries, (requested, made, freed), reserved)
    return device


def _match(life: Lifetimes, live: Live) -> Int:
    """Final block of each allocation; -1 if it has none. Its free may still be pending."""
    found = np.full(life.address.size, -1, np.int64)
    if not live.address.size:
        return found
    order = np.argsort(live.address, kind="stable")
    places = live.address[order]
    open_ones = np.flatnonzero(life.reusable < 0)
    at = np.minimum(np.searchsorted(places, life.address[open_ones]), places.size - 1)
    same = places[at] == life.address[open_ones]
    found[open_ones[same]] = order[at[same]]
    return found


def _memory(entries: Entries, asked: tuple[Int, Int, Int], reserved: int | None) -> dict[str, Any]:
    """Rows of `raw_memory`: a total before the history, then every allocation, free and change of the segments."""
    requested, made, freed = asked
    rows = entries.ts.size
    base = int(requested[(made < 0) & (freed != BEFORE)].sum())
    allocated = running(rows, base, requested, made, requested, freed)
    held = _reserved(entries, reserved)
    changes = np.flatnonzero((entries.action == GROWS) | (entries.action == SHRINKS))
    allocs, frees = np.flatnonzero(made >= 0), np.flatnonzero(freed >= 0)
    at = np.concatenate([made[allocs], freed[frees], changes])
    amount = np.concatenate([requested[allocs], -requested[frees], np.zeros(changes.size, np.int64)])
    total = np.concatenate([np.zeros(allocs.size + frees.size, np.bool_), np.ones(changes.size, np.bool_)])
    # At equal rows a free precedes the allocation that replaces it.
    order = np.lexsort((amount, at))
    at, amount, total = at[order], amount[order], total[order]
    first = np.array([True])
    return {
        "ts": np.concatenate([entries.ts[:1], entries.ts[at]]),
        "address": pa.array(np.concatenate([[0], entries.address[at]]), mask=np.concatenate([first, total])),
        "bytes": pa.array(np.concatenate([[0], amount]), mask=np.concatenate([first, total])),
        "allocated": np.concatenate([[base], allocated[at]]),
        "reserved": np.concatenate([[held[0]], held[1:][at]]),
    }


def _reserved(entries: Entries, final: int | None) -> Int:
    """Reserved bytes before the first entry and after each one; the last equals the final value if that is known."""
    change = np.where(entries.action == GROWS, entries.bytes, 0) - np.where(entries.action == SHRINKS, entries.bytes, 0)
    held: Int = np.concatenate([[0], np.cumsum(change)])
    base = -int(held.min()) if final is None else max(0, final - int(held[-1]))
    return held + base


def nullable(values: Int) -> pa.Array:
    """Values as an Arrow array in which negative ones are null."""
    return pa.array(values, mask=values < 0)


def _times(ts: Int, rows: Int) -> pa.Array:
    if not ts.size:
        return pa.nulls(rows.size, pa.int64())
    return pa.array(ts[np.maximum(rows, 0)], mask=rows < 0)
