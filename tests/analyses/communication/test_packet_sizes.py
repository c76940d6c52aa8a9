from __future__ import annotations

import pytest

from stepscope.analyses.communication.packet_sizes import packet_sizes
from stepscope.model.errors import MissingInputError
from support import Facts


def packets(*rows: tuple[str, str, float, float]) -> Facts:
    """Operation, link and size, count, and ms of packets."""
    facts = Facts()
    for operation, kind, count, ms in rows:
        for metric, value in (("Count", count), ("Duration(ms)", ms)):
            facts.row("recorded", source="packets", step="1", subject=f"collective {operation} {kind} MB",
                      metric=metric, value=value)  # fmt: skip
    return facts


def test_packets_of_one_size_and_link_are_added_up() -> None:
    facts = packets(
        ("hcom_allReduce__1_0_1@5", "HCCS 2.064384", 12, 1.5), ("hcom_allReduce__1_1_1@5", "HCCS 2.064384", 4, 0.5),
        ("hcom_allReduce__1_0_1@5", "RDMA 1.0", 3, 4.0), ("Total Op Info", "HCCS 2.064384", 16, 2.0),
        ("hcom_allReduce__1_0_1@5", "SDMA 0", 0, 0),
    )  # fmt: skip
    with facts.trace() as trace:
        rows = packet_sizes(trace).records()
    assert [(row["link"], row["packet_bytes"], row["count"], row["total_ns"], row["small"]) for row in rows] == [
        ("RDMA", 1_000_000, 3, 4_000_000, False), ("HCCS", 2_064_384, 16, 2_000_000, True),
    ]  # fmt: skip
    assert rows[1]["bytes"] == 16 * 2_064_384
    assert rows[1]["bandwidth"] == pytest.approx(16.515e9, rel=1e-4)


def test_without_counts_there_is_no_table() -> None:
    with Facts().trace() as trace, pytest.raises(MissingInputError, match="no collective"):
        packet_sizes(trace)
    facts = Facts()
    facts.row(
        "collectives", event=facts.kernel("hcom_allReduce", 0, 10, kind="comm"), group="0", collective="all_reduce"
    )
    with facts.trace() as trace, pytest.raises(MissingInputError, match="no sums of its profiler"):
        packet_sizes(trace)
