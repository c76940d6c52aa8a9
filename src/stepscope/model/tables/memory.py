"""Canonical tables of memory snapshots: the caching allocator's segments and blocks, and its history of events.

Other recordings leave them empty; table `memory` has the allocations of every recording.
"""

from __future__ import annotations

from typing import Final

from stepscope.model.schema import Column, TableSchema, flag, ident, ns, size, text

_RANK: Final = Column("rank", "int32", "Rank of the process in the job, or its position in the input.")
_DEVICE: Final = Column("device", "int32", "Device index; null where not recorded.", "", True)
_STREAM: Final = text("stream", "Queue that it belongs to, as recorded; null if not recorded.", nullable=True)
_POOL: Final = text(
    "pool",
    "Private pool as `graph.user`, such as those of graphs; null for the shared pool and where not recorded.",
    nullable=True,
)
_STACK: Final = ident(
    "stack", "Where the program asked for it, a row of `call_stacks`; null if unknown.", nullable=True
)

CALL_FRAMES: Final = TableSchema(
    "call_frames",
    "One row per distinct frame of the call stacks.",
    (
        Column("frame", "int32", "Number of the frame within its rank.", "id"),
        _RANK,
        text("text", "The frame as `file(line): function`, or the function alone where no file is known."),
    ),
)

CALL_STACKS: Final = TableSchema(
    "call_stacks",
    "One row per distinct call stack of the allocator's entries.",
    (
        ident("stack", "Number of the stack within its rank."),
        _RANK,
        Column("frames", "int32[]", "Its frames, innermost first: rows of `call_frames`.", "id"),
        text("place", "Innermost frame of the user's own code, else of a library, else an operator.", nullable=True),
        text("module", "File of the innermost `forward` outside PyTorch; null if there is none.", nullable=True),
        text(
            "category",
            "Purpose of the memory, as far as the frames show it: parameter, optimizer, forward, backward, collective, "
            "data, workspace, autotune, kv_cache or other.",
        ),
    ),
)

SEGMENTS: Final = TableSchema(
    "segments",
    "One row per segment of device memory that the caching allocator reserved, by device and address.",
    (
        ident("segment", "Number of the segment within its rank."),
        _RANK,
        _DEVICE,
        Column("address", "int64", "First byte.", ""),
        size("bytes", "Size."),
        _STREAM,
        text("kind", "small or large: the allocations that it serves; null if not recorded.", nullable=True),
        _POOL,
        flag(
            "expandable", "Whether it is a mapped part of an expandable segment; null if not recorded.", nullable=True
        ),
        _STACK,
    ),
)

BLOCKS: Final = TableSchema(
    "blocks",
    "One row per block of a segment, by address. The blocks of a segment fill it.",
    (
        ident("segment", "Row of `segments`."),
        _RANK,
        _DEVICE,
        Column("address", "int64", "First byte.", ""),
        size("bytes", "Size."),
        size(
            "requested",
            "Bytes that the program asked for; for a free block, last time; null if unknown.",
            nullable=True,
        ),
        text("state", "active, pending (freed, but a queue may still use it), inactive (cached) or unknown."),
        _STACK,
    ),
)

ALLOCATOR_EVENTS: Final = TableSchema(
    "allocator_events",
    "One row per entry of the allocator's history, in order per device.",
    (
        Column("seq", "int64", "Position in the device's history, from 0.", ""),
        _RANK,
        ns("ts", "When; the position, if the recording has no times."),
        _DEVICE,
        text(
            "action",
            "alloc, free_requested (the program freed it), free_completed (usable again), segment_alloc, "
            "segment_free, segment_map, segment_unmap (parts of expandable segments), snapshot, oom, or as recorded.",
        ),
        Column("address", "int64", "First byte; null for events without one.", "", True),
        size("bytes", "Size as recorded: for allocations and frees what the program asked for.", nullable=True),
        _STREAM,
        _POOL,
        _STACK,
        size("device_free", "Bytes free on the device, for oom; else null.", nullable=True),
        text("category", "What it is for, as recorded; null if not.", nullable=True),
        text("context", "Compilation during which it happened; null if none.", nullable=True),
        text("metadata", "What the program had set as metadata; null if nothing.", nullable=True),
    ),
)

ALLOCATIONS: Final = TableSchema(
    "allocations",
    "One row per allocation, from when the program got it to when it was usable again, by device and start.",
    (
        _RANK,
        _DEVICE,
        Column("address", "int64", "First byte.", ""),
        size("requested", "Bytes that the program asked for."),
        size("bytes", "Size of its block: as found in the end, else `requested` rounded up to 512 bytes."),
        _STREAM,
        _STACK,
        text("category", "What it is for, as recorded; null if not.", nullable=True),
        Column("seq", "int64", "Position of the allocation in the device's history; null if made before it.", "", True),
        ns("ts", "When it was made; null if before the history.", nullable=True),
        Column(
            "freed_seq",
            "int64",
            "Position at which the program freed it; -1 if before the history, null if it never did.",
            "",
            True,
        ),
        ns("freed_ts", "When the program freed it; null if before the history or never.", nullable=True),
        Column("reusable_seq", "int64", "Position at which it was usable again; null if it never was.", "", True),
        ns("reusable_ts", "When it was usable again; null if it never was.", nullable=True),
    ),
)

MEMORY_TABLES: Final = (CALL_FRAMES, CALL_STACKS, SEGMENTS, BLOCKS, ALLOCATOR_EVENTS, ALLOCATIONS)
