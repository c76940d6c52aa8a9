"""Canonical tables about collectives, their parts, and the groups of ranks that take part."""

from __future__ import annotations

from stepscope.model.schema import Column, TableSchema, ident, ns, size, text
from stepscope.model.tables.columns import RANK

GROUPS = TableSchema(
    "groups",
    "One row per process group that the recording describes.",
    (
        RANK,
        text("group", "Name."),
        text("description", "What it is for, as recorded.", nullable=True),
        text("backend", "nccl, gloo, hccl, ...", nullable=True),
        Column("size", "int32", "Number of ranks.", "count", True),
        Column("ranks", "int32[]", "Its ranks; null if not recorded.", "", True),
    ),
)
COLLECTIVES = TableSchema(
    "collectives",
    "One row per collective or point-to-point transfer seen on a rank.",
    (
        ident("event", "The device event; the host event where no device event exists (for example gloo)."),
        RANK,
        text("group", "Process group: its name, or `default` where not recorded."),
        Column("seq", "int64", "Sequence number in the group as recorded; null if not.", "", True),
        text(
            "collective",
            "all_reduce, all_gather, reduce_scatter, broadcast, reduce, gather, scatter, all_to_all, "
            "send, recv, send_recv (where not distinguished), barrier or other.",
        ),
        size(
            "bytes",
            "Size of the collective: the larger of input and output; null if not recorded.",
            nullable=True,
        ),
        text("dtype", "Data type as recorded.", nullable=True),
        Column("world_size", "int32", "Number of ranks in the group; null if not recorded.", "", True),
        Column("ranks", "int32[]", "Ranks of the group; null if not recorded.", "", True),
        Column(
            "peer",
            "int32",
            "Rank at the other end of a send or receive; null for others, or if not recorded.",
            "",
            True,
        ),
        ns(
            "transfer_ns",
            "Time in which data moved, at most, as the library summed it up; null if it did not.",
            nullable=True,
        ),
    ),
)
COMM_TASKS = TableSchema(
    "comm_tasks",
    "One row per part of a collective that its library recorded: transfers over links, waits and signals.",
    (
        ident("event", "The part's own event."),
        RANK,
        ident("collective", "The collective's event; null if not found.", nullable=True),
        text("kind", "copy, reduce, wait, signal, send or other."),
        Column("plane", "int32", "Number of the part's queue within the collective; null if not recorded.", "", True),
        Column("src", "int32", "Rank within the group that data leaves; null if not recorded.", "", True),
        Column("dst", "int32", "Rank within the group that data enters; null if not recorded.", "", True),
        text("transport", "SDMA, RDMA, LOCAL, ...; null if not recorded.", nullable=True),
        text("link", "HCCS, PCIE, ROCE, SIO, ON_CHIP, ...; null if not recorded.", nullable=True),
        size("bytes", "Bytes moved; null if not recorded.", nullable=True),
    ),
)
