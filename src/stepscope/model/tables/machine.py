"""Canonical tables of what was sampled of the machine while the job ran."""

from __future__ import annotations

from typing import Final

from stepscope.model.schema import Column, TableSchema, ns, number, text
from stepscope.model.tables.columns import RANK

MACHINE = TableSchema(
    "machine",
    "One row per number that was sampled of the machine, its devices or the job's processes while the job ran, also "
    "long before and after the recorded steps. Those of the recorded time are in `counters` as well.",
    (
        RANK,
        ns("ts", "When, or the start of the time that a rate is of; negative before the recording.", signed=True),
        Column("track", "int32", "Counter track, a row of `tracks`.", "id"),
        text("subject", "What was measured: `processors`, `core 3`, `disk nvme0n1`, `job`, `device 0`, ..."),
        text("series", "What of it: `busy`, `read`, `power`, ..."),
        text("unit", "Of the value: share, cores, threads, bytes, bytes/s, 1/s, ns, W, MHz, degrees, count."),
        number("value", "Sample, or mean rate since the sample before."),
    ),
)
STORAGES = TableSchema(
    "storages",
    "One row per filesystem on which processes of the job had data files open.",
    (
        RANK,
        text("mount", "Where it is mounted."),
        text("filesystem", "As the system calls it: ext4, nfs4, overlay, ..."),
        text("kind", "solid state, rotational, network, memory or unknown."),
        text("disk", "Name of the disk, as in `machine`; null where there is none, or it is not known.", nullable=True),
    ),
)
MACHINE_TABLES: Final = (MACHINE, STORAGES)
