"""Tables of the staging area that hold facts as recorded, before anything is derived."""

from __future__ import annotations

from typing import Final

from stepscope.model.schema import Column, TableSchema, flag, ident, ns, text

#: Events as recorded. Times are absolute: Unix time, or since whatever epoch the recording's clock has.
RAW_EVENTS: Final = TableSchema(
    "raw_events",
    "One row per recorded interval or instant that has a usable time.",
    (
        ident("id", "Position among the recording's events, counted from 0."),
        ns("ts", "Start, on the recording's clock."),
        ns("dur", "Duration; null if not recorded or not usable.", nullable=True),
        Column("track", "int32", "Row of `tracks`.", "id"),
        Column("name_id", "int32", "Row of `names`.", "id"),
        text("category", "As in `events`."),
        ident("correlation", "As in `events`.", nullable=True),
        ident("external_id", "As in `events`.", nullable=True),
    ),
)
#: Device activities: columns beyond the interval.
RAW_KERNELS: Final = TableSchema(
    "raw_kernels",
    "One row per device activity.",
    (
        ident("event", "The event."),
        text("kind", "As in `kernels`; null leaves it to the name's class (compute or comm).", nullable=True),
        Column("grid", "int32[]", "As in `kernels`.", "", True),
        Column("block", "int32[]", "As in `kernels`.", "", True),
        Column("registers", "int32", "As in `kernels`.", "", True),
        Column("shared_bytes", "int64", "As in `kernels`.", "bytes", True),
        Column("occupancy", "float64", "As in `kernels`.", "fraction", True),
        flag(
            "in_graph",
            "Whether a graph launched it; null if not recorded: then kernels that share a launch are "
            "taken for a graph's.",
            nullable=True,
        ),
        text("op_type", "As in `kernels`.", nullable=True),
        text("core", "As in `kernels`.", nullable=True),
        text("dtype", "As in `kernels`; null leaves it to the name.", nullable=True),
    ),
)
#: Work of kernels whose own shapes are recorded; where an operator around a kernel has a cost, that counts.
RAW_COSTS: Final = TableSchema(
    "raw_costs",
    "One row per kernel whose FLOPs and bytes its reader knows.",
    (
        ident("event", "The event."),
        Column("flops", "float64", "As in `kernels`.", "FLOP"),
        Column("bytes", "int64", "As in `kernels`.", "bytes", True),
    ),
)
#: Allocations with their thread, from which the owner is derived.
RAW_MEMORY: Final = TableSchema(
    "raw_memory",
    "One row per allocation, free or total.",
    (
        ns("ts", "When, on the recording's clock."),
        Column("track", "int32", "Thread; null if not recorded.", "id", True),
        Column("device", "int32", "As in `memory`.", "", True),
        Column("address", "int64", "As in `memory`.", "", True),
        Column("bytes", "int64", "As in `memory`.", "bytes", True),
        Column("allocated", "int64", "As in `memory`.", "bytes", True),
        Column("reserved", "int64", "As in `memory`.", "bytes", True),
    ),
)
#: Ends of flows: a row per end, to be matched by kind and key.
RAW_FLOWS: Final = TableSchema(
    "raw_flows",
    "One row per end of a flow.",
    (
        text("kind", "As in `flows`."),
        text("key", "What both ends share."),
        flag("is_source", "Whether the flow leaves here."),
        ns("ts", "When, on the recording's clock: within the event, on its track."),
        Column("track", "int32", "Row of `tracks`; null if no event is on the track.", "id", True),
    ),
)
