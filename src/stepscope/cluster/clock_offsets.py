"""The clocks of hosts as a table."""

from __future__ import annotations

from typing import Final

from stepscope.cluster.job import JobParts
from stepscope.model.schema import Column, TableSchema, count, flag, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK

#: An offset is sure if it is this many times as large as what it leaves.
_SURE: Final = 2

CLOCK_OFFSETS: Final = TableSchema(
    "clock_offsets",
    "By how much the clock of each rank's host is ahead of the first rank's, from the ends of collectives that need "
    "the data of all ranks (median polish over hosts). Null where a rank has none in common with others, or no clock "
    "with a known origin.",
    (
        RANK,
        text("host", "Its host; null if not recorded: then the rank counts as a host of its own.", nullable=True),
        count("collectives", "Collectives that were compared."),
        ns("offset_ns", "The clock is ahead by this.", nullable=True),
        ns("residual_ns", "Half of the ends differ by no more than this from those of other hosts once the offset is "
           "taken out.", nullable=True),
        flag("sure", "Whether the offset is at least twice the residual; if not, the clocks may as well agree.",
             nullable=True),
        Column("compared", "int32", "Other hosts that it was compared with.", "count"),
    ),
)  # fmt: skip


def clock_offsets(job: JobParts) -> Table:
    """By how much clocks differ, by rank."""
    rows = [
        (rank, job.host(rank), number, offset, residual,
         None if offset is None or residual is None else abs(offset) >= _SURE * residual, others)
        for rank, (number, offset, residual, others) in sorted(job.clocks.offsets().items())
    ]  # fmt: skip
    return Table.from_rows(CLOCK_OFFSETS, rows)
