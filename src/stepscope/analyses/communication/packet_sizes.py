"""Packets that collectives were moved in, by link and size, as the Ascend profiler counted them."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import TableSchema, count, flag, ns, number, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: Bytes below which a link does not reach its rate: msprof-analyze's 16 MB for SDMA, whatever the link, 1 MB for RDMA.
SMALL_BYTES: Final = {"SDMA": 16_000_000, "RDMA": 1_000_000}

PACKET_SIZES: Final = TableSchema(
    "packet_sizes",
    "One row per link and size of the packets that collectives were moved in (`communication.json`, "
    "`analysis.db`), over the whole recording, the most time first. Times of links that work at once add up.",
    (
        RANK,
        text("link", "RDMA, HCCS, PCIE, SIO or SDMA."),
        size("packet_bytes", "Size of one packet."),
        count("count", "How many packets."),
        size("bytes", "What they carried."),
        ns("total_ns", "Time that they took."),
        number("bandwidth", "bytes / total_ns; null where they took no time.", "bytes/s", nullable=True),
        flag("small", "Whether a link does not reach its rate with them: less than 16 MB by SDMA, 1 MB by RDMA."),
    ),
)

_SQL: Final = """
WITH told AS (
    SELECT regexp_extract(subject, '^\\S+ \\S.* (\\S+) (\\S+) MB$', ['link', 'mb']) AS what, metric, value
    FROM recorded WHERE source = 'packets' AND NOT contains(subject, ' Total Op Info')
)
SELECT what.link AS link, round(1e6 * try_cast(what.mb AS DOUBLE))::BIGINT AS packet_bytes,
    sum(value) FILTER (WHERE metric = 'Count')::BIGINT AS number,
    round(1e6 * sum(value) FILTER (WHERE metric = 'Duration(ms)'))::BIGINT AS total
FROM told WHERE try_cast(what.mb AS DOUBLE) BETWEEN 1e-6 AND 1e9 AND value BETWEEN 0 AND 1e9
GROUP BY ALL HAVING number > 0 ORDER BY total DESC, link, packet_bytes
"""


def packet_sizes(trace: Trace) -> Table:
    """Sum up packets by link and size.

    Raises:
        MissingInputError: The recording has no collective, or the profiler counted no packets of them.
    """
    rows = trace.rows(_SQL)
    if not rows:
        raise MissingInputError.of("summaries" if trace.scalar("SELECT count(*) FROM collectives") else "collectives")
    rank = trace.ranks[0]
    found = []
    for row in rows:
        moved, spent = row["packet_bytes"] * row["number"], row["total"] or 0
        small = row["packet_bytes"] < SMALL_BYTES["RDMA" if row["link"] == "RDMA" else "SDMA"]
        rate = 1e9 * moved / spent if spent else None
        found.append((rank, row["link"], row["packet_bytes"], row["number"], moved, spent, rate, small))
    return Table.from_rows(PACKET_SIZES, found)


ANALYSES = (Analysis(PACKET_SIZES, packet_sizes),)
