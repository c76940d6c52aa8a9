"""What a device's links carried, as its profiler sampled them."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, fraction, number, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

LINK_RATES: Final = TableSchema(
    "link_rates",
    "One row per link of the device, port and direction, over the whole recording, by the samples of the Ascend "
    "profiler (`sys_io`, `sys_interconnection`); the samples themselves are counters.",
    (
        RANK,
        text("link", "NIC, RoCE, HCCS or PCIe."),
        text("port", "Port; of PCIe posted (writes) or completions (of reads); null if not told.", nullable=True),
        text("direction", "receive or transmit."),
        Column("samples", "int64", "How many samples there are; null where only sums are.", "count", True),
        number("mean_rate", "Mean rate.", "bytes/s", nullable=True),
        number("peak_rate", "Largest rate of a sample.", "bytes/s", nullable=True),
        number("bandwidth", "What the link can carry, as recorded; null if not.", "bytes/s", nullable=True),
        fraction("mean_share", "Mean rate as a share of the bandwidth; null if neither is told.", nullable=True),
        fraction("peak_share", "Largest rate likewise.", nullable=True),
        fraction("lost_share", "Packets dropped or with errors, as a share: the mean of the samples; null if not told.",
                 nullable=True),
    ),
)  # fmt: skip

_SQL: Final = """
SELECT subject, metric, value FROM recorded WHERE source = 'link_rates' AND isfinite(value) ORDER BY ALL
"""


def link_rates(trace: Trace) -> Table:
    """Put rates, shares and losses of each link beside each other.

    Raises:
        MissingInputError: No links were sampled.
    """
    told: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in trace.rows(_SQL):
        link, port, direction = (*row["subject"].split("|"), "", "")[:3]
        told.setdefault((link, port, direction), {})[row["metric"]] = row["value"]
    rows = [_row(trace.ranks[0], key, values, told) for key, values in sorted(told.items()) if key[2]]
    if not rows:
        raise MissingInputError.of(
            "link_counters" if trace.scalar("SELECT count(*) FROM collectives") else "collectives"
        )
    return Table.from_rows(LINK_RATES, rows)


def _row(
    rank: int, key: tuple[str, str, str], values: dict[str, float], told: dict[Any, dict[str, float]]
) -> tuple[Any, ...]:
    link, port, direction = key
    bandwidth = told.get((link, port, ""), {}).get("peak bandwidth") or None
    rates, shares = ([values.get(f"{kind} {what}") for kind in ("mean", "peak")] for what in ("rate", "share"))
    if bandwidth:
        rates = [share * bandwidth if rate is None and share is not None else rate
                 for rate, share in zip(rates, shares, strict=True)]  # fmt: skip
        shares = [rate / bandwidth if share is None and rate is not None else share
                  for rate, share in zip(rates, shares, strict=True)]  # fmt: skip
    lost = [values[name] for name in ("mean dropped", "mean errors") if name in values]
    samples = values.get("samples")
    return (
        rank, link, port or None, direction, None if samples is None else round(samples), *rates, bandwidth, *shares,
        max(lost, default=None),
    )  # fmt: skip


ANALYSES = (Analysis(LINK_RATES, link_rates),)
