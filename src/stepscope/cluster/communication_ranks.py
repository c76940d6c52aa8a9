"""Collectives of a job by what they take on all ranks: to move data, to wait for late ranks, and how unevenly."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.cluster.job import JobParts
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, number, size, text
from stepscope.model.table import Table

COMMUNICATION_RANKS: Final = TableSchema(
    "communication_ranks",
    "Collectives of typical steps by group and kind, over all ranks at hand, the longest transfer first. The shortest "
    "duration of a collective on any rank is its transfer, what the others take beyond that is waiting; on processors "
    "the time until the rank's next operator counts, where it is longer. Collectives that one rank at hand took part "
    "in are not counted.",
    (
        text("group", "Process group."),
        text("collective", "Kind of collective."),
        count("count", "Collectives, each counted once."),
        count("participants", "Most devices that took part in one."),
        size("bytes", "Sum of the sizes of one rank; null if they are not recorded, or not the same on all.",
             nullable=True),
        ns("transfer_ns", "Sum of the transfers."),
        ns("wait_ns", "Sum of the mean waiting of one participant."),
        ns("longest_wait_ns", "The same of the collective with the most waiting."),
        fraction("wait_share", "wait_ns / (transfer_ns + wait_ns); 0 if both are."),
        number("imbalance", "Mean duration of a participant over the transfer, as a mean over the collectives, at "
               "least 1."),
        Column("last_rank", "int32", "Rank that came last most often; the lowest of several."),
        fraction("last_share", "In which part of the collectives it came last."),
        count("by_transfer", "Place by transfer_ns, from 1 on."),
        count("by_wait", "Place by wait_ns."),
        count("by_imbalance", "Place by imbalance."),
    ),
)  # fmt: skip


def communication_ranks(job: JobParts) -> Table:
    """The kinds of collectives of each group, ranked."""
    rows: list[list[object]] = []
    values: list[tuple[int, int, float]] = []
    for (group, kind), known in job.collectives.kinds():
        mine = (known.devices > 1) & (known.typical > 0)
        if not mine.any():
            continue
        transfer, devices = known.shortest[mine], known.devices[mine]
        wait = np.maximum(known.total[mine] - transfer * devices, 0) // devices
        moved, waited = int(transfer.sum()), int(wait.sum())
        imbalance = float(np.mean((transfer + wait) / np.maximum(transfer, 1)))
        rank, times = min(Counter(known.last[mine].tolist()).items(), key=lambda item: (-item[1], item[0]))
        number = int(np.count_nonzero(mine))
        rows.append([
            group, kind, number, int(devices.max()), _bytes(known.bytes[mine]), moved, waited,
            int(wait.max()), waited / (moved + waited) if moved + waited else 0.0, max(imbalance, 1.0), rank,
            times / number,
        ])  # fmt: skip
        values.append((moved, waited, imbalance))
    places = [_places(np.array([value[at] for value in values])) for at in range(3)]
    ranked = [(*row, *(int(place[at]) for place in places)) for at, row in enumerate(rows)]
    ranked.sort(key=lambda row: (row[-3], str(row[0]), str(row[1])))
    return Table.from_rows(COMMUNICATION_RANKS, ranked)


def _bytes(sizes: NDArray[np.int64]) -> int | None:
    return None if bool((sizes < 0).any()) else int(sizes.sum())


def _places(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places from 1 on, the largest first; of equal ones the first."""
    places = np.empty(values.size, np.int64)
    places[np.argsort(-values, kind="stable")] = np.arange(1, values.size + 1)
    return places
