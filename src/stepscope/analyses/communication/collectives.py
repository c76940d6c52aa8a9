"""Collectives summed up and call by call: duration, size, bus bandwidth, overlap with compute."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import numpy as np

from stepscope.analyses.communication.collective_calls import (
    BANDWIDTHS,
    DEVICE,
    HOST,
    NUMBERED_SQL,
    WORLD,
    rate,
    recorded_calls,
)
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, nullable, ordered_table, shares
from stepscope.model.coding import Codes
from stepscope.model.schema import TableSchema, ns, number, size, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

COLLECTIVES = TableSchema(
    "collectives",
    "Collectives by kind, process group and size, over the whole recording. Durations are those on this rank: the "
    "wait for the last rank is part of them.",
    (
        *summary_columns("collective", "the time of all collectives"),
        RANK,
        DEVICE,
        text("group", "Process group, `default` where not recorded; of one that is called by a long number, what it is "
             "for and its ranks."),
        WORLD,
        text("size_class", "Range of sizes, such as `1 to 16 MiB`; `unknown` where not recorded."),
        size("bytes", "Sum of the sizes; null where unknown.", nullable=True),
        ns("overlapped_ns", "The part of total_ns during which compute ran on the device; null on the host.",
           nullable=True),
        ns("exposed_ns", "total_ns - overlapped_ns; null on the host.", nullable=True),
        number("algorithm_bandwidth", f"bytes / total_ns: {BANDWIDTHS}", "bytes/s", nullable=True),
        number("bus_bandwidth", f"Algorithm bandwidth times the factor of `bus_factor`: {BANDWIDTHS}", "bytes/s",
               nullable=True),
        number("best_bus_bandwidth", "Bus bandwidth of the fastest call, which waited the least; null likewise.",
               "bytes/s", nullable=True),
    ),
)  # fmt: skip
_HASH: Final = re.compile(r"\d{12,}")
_RANKS_SHOWN: Final = 8
#: Upper limits of the size classes. Below 64 KiB latency rules, above 16 MiB bandwidth does.
_CLASSES: Final = (
    (4 << 10, "up to 4 KiB"), (64 << 10, "4 to 64 KiB"), (1 << 20, "64 KiB to 1 MiB"), (16 << 20, "1 to 16 MiB"),
    (256 << 20, "16 to 256 MiB"), (2**63 - 1, "over 256 MiB"),
)  # fmt: skip


def collectives(trace: Trace) -> Table:
    """Sum the collectives up.

    Raises:
        MissingInputError: The recording has none.
    """
    rows = trace.once(recorded_calls)
    group, name = Codes.of(rows["group"]), Codes.of(rows["name"])
    sizes, known = rows["bytes"], rows["bytes"] >= 0
    size_class = np.where(known, np.searchsorted([limit for limit, _ in _CLASSES], sizes), len(_CLASSES))
    groups = Groups.by(name.code, rows["device"] - HOST, group.code, rows["world_size"], size_class)
    first, total = groups.first, groups.sum(rows["dur"])
    on_host = rows["device"][first] == HOST
    overlapped = groups.sum(rows["overlapped"])
    moved = np.where(known[first], groups.sum(np.maximum(sizes, 0)), -1)
    algorithm = rate(moved, total)
    best = np.full(first.size, -1.0)
    np.maximum.at(best, groups.index, np.nan_to_num(rows["bus"], nan=-1.0))
    labels = _labels(trace, group.at(first))
    columns = {
        **groups.summary(rows["dur"]),
        "name": name.at(first),
        "share": shares(total, int(total.sum())),
        "rank": np.full(first.size, trace.ranks[0]),
        "device": nullable(rows["device"][first], rows["device"][first] < 0),
        "group": [labels.get(one, one) for one in group.at(first)],
        "world_size": nullable(rows["world_size"][first], rows["world_size"][first] < 0),
        "size_class": [[*(label for _, label in _CLASSES), "unknown"][i] for i in size_class[first].tolist()],
        "bytes": nullable(moved, moved < 0),
        "overlapped_ns": nullable(overlapped, on_host),
        "exposed_ns": nullable(total - overlapped, on_host),
        "algorithm_bandwidth": nullable(algorithm, np.isnan(algorithm)),
        "bus_bandwidth": nullable(algorithm * rows["factor"][first], np.isnan(algorithm * rows["factor"][first])),
        "best_bus_bandwidth": nullable(best, best < 0),
    }
    return ordered_table(COLLECTIVES, columns, ("device", "group", "bytes"))


def _labels(trace: Trace, groups: Iterable[str]) -> dict[str, str]:
    """Labels for groups that are named by long numbers: what the group is for, and its ranks, as `pp of ranks 0, 2`.

    A group that the recording does not describe is labelled by its last digits, which its operations have in their
    names.
    """
    found = {group: f"group {group[-3:]}" for group in groups if _HASH.fullmatch(group)}
    for row in trace.rows(NUMBERED_SQL):
        ranks = row["ranks"] or []
        shown = ", ".join(map(str, ranks[:_RANKS_SHOWN])) + ", …" * (len(ranks) > _RANKS_SHOWN)
        found[row["group"]] = f"{row['description']} of ranks {shown}" if ranks else str(row["description"])
    # Two groups of one name and the same ranks are still two.
    twice = {label for label in found.values() if list(found.values()).count(label) > 1}
    return {group: label for group, label in found.items() if label not in twice}


ANALYSES = (Analysis(COLLECTIVES, collectives),)
