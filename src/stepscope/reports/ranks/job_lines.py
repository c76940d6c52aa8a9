"""What health says of a job's ranks together."""

from __future__ import annotations

from stepscope.cluster.job import JobParts
from stepscope.cluster.parallel_groups import parallel_groups
from stepscope.language import said
from stepscope.reports.health import HealthLine
from stepscope.reports.ranks.unlike_lines import unlike_lines


def job_lines(job: JobParts) -> list[HealthLine]:
    """In what ranks were not recorded alike, and groups that are placed where they communicate slowly."""
    return [*unlike_lines(job), *_across(job)]


def _across(job: JobParts) -> list[HealthLine]:
    across = [
        row for row in parallel_groups(job).records()
        if row["parallelism"] == "tensor" and row["across_hosts"] and row["calls"]
    ]  # fmt: skip
    if not across:
        return []
    ranks = across[0]["ranks"]
    listed = f"{', '.join(map(str, ranks[:8]))}{', ...' if len(ranks) > 8 else ''}"
    return [
        HealthLine(
            "tensor-across-hosts",
            "warning",
            said(
                "tensor parallelism goes over the network: ranks {listed} are on {hosts} hosts",
                listed=listed,
                hosts=across[0]["hosts"],
            ),
            "it communicates in every layer, and waits for it; place the ranks of each tensor-parallel group on one "
            "host, and let data or pipeline parallelism go between hosts",
            len(across),
        )
    ]
