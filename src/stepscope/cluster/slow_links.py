"""Which links move data more slowly than others of their kind: between pairs of ranks, and within groups of ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.cluster.job import JobGroup, JobParts
from stepscope.cluster.robust import DEVIATIONS, usual
from stepscope.model.bus import bus_factor
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ns, number, size, text
from stepscope.model.table import Table

#: A link is slow if it lacks this part of the usual rate, as in CLU002.
_DROP: Final = 0.2
#: Of two links one can't tell which is unusual.
_LEAST: Final = 3
#: Smaller messages take mostly the latency of a link.
_LARGE: Final = 1 << 20

SLOW_LINKS: Final = TableSchema(
    "slow_links",
    "Bandwidth between pairs of ranks, where the library recorded its transfers or a send and its receive are at hand, "
    "and within groups of ranks, against their like: pairs over the same kind of link; groups of as many ranks, on one "
    "host or on several alike, with collectives of the same kind and size; collectives, sends and receives from 1 MiB "
    "on, in typical steps. The slowest of its like comes first.",
    (
        text("between", "pair: one rank to another; group: the ranks of a process group."),
        Column("ranks", "int32[]", "The two ranks, from and to; or those of the group."),
        text("group", "Process group; null for pairs.", nullable=True),
        text("transport", "Kind of link as recorded; for groups, and pairs that send and receive, `one host`, `several "
             "hosts`, or null if unknown.",
             nullable=True),
        text("collective", "Kind of collective; null for pairs.", nullable=True),
        flag("slow", "Whether it has less than 0.8 of the usual bandwidth, and less by five deviations (median "
             "absolute ones, as a normal distribution has them), among at least three."),
        number("bandwidth", "Bytes per time of the transfers; for groups bus bandwidth, of the shortest participant.",
               "bytes/s"),
        number("usual", "Median over its like.", "bytes/s"),
        fraction("ratio", "bandwidth / usual; may be above 1."),
        count("like", "How many it is compared with, this one included."),
        size("bytes", "Pairs: bytes moved per step. Groups: size of one collective."),
        ns("transfer_ns", "Pairs: time of the transfers per step. Groups: median time of one."),
        Column("collectives", "int64", "Collectives that were compared; null for pairs.", "count", True),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rated:
    """A link with its rate; `like` are those of an equal key."""

    key: tuple[object, ...]
    ranks: tuple[int, ...]
    group: str | None
    transport: str | None
    collective: str | None
    rate: float
    bytes: int
    ns: int
    calls: int | None


def slow_links(job: JobParts) -> Table:
    """The links, the slowest of their like first."""
    kinds: dict[tuple[object, ...], list[_Rated]] = defaultdict(list)
    for link in (*_pairs(job), *_messages(job), *_groups(job)):
        kinds[link.key].append(link)
    rows = [row for alike in kinds.values() for row in _compared(alike)]
    rows.sort(key=lambda row: (not row[5], row[8], row[0], row[1], str(row[2]), str(row[4])))
    return Table.from_rows(SLOW_LINKS, rows)


def _compared(alike: list[_Rated]) -> Iterator[tuple[object, ...]]:
    middle, deviation = usual([link.rate for link in alike])
    for link in alike:
        slow = len(alike) >= _LEAST and link.rate < (1 - _DROP) * middle and link.rate < middle - DEVIATIONS * deviation
        yield (
            "pair" if link.group is None else "group", list(link.ranks), link.group, link.transport, link.collective,
            slow, link.rate, middle, link.rate / middle, len(alike), link.bytes, link.ns, link.calls,
        )  # fmt: skip


def _pairs(job: JobParts) -> Iterator[_Rated]:
    """Pairs of ranks; of what both sides recorded the one with more data counts."""
    found: dict[tuple[str, int, int], tuple[int, int]] = {}
    for pair in job.links:
        key = pair.link, pair.src, pair.dst
        found[key] = max(found.get(key, (0, 1)), (pair.bytes, pair.ns))
    for (transport, src, dst), (moved, taken) in found.items():
        if moved:
            yield _Rated(
                ("pair", transport), (src, dst), None, transport, None, moved * 1e9 / taken, moved, taken, None
            )


def _messages(job: JobParts) -> Iterator[_Rated]:
    """Pairs of ranks by their sends and receives, of which the shorter end has waited least."""
    steps: dict[tuple[int, int], set[int]] = defaultdict(set)
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for key, (moved, taken, both) in job.messages.items():
        if both and moved >= _LARGE and taken:
            pair = key.src, key.dst
            steps[pair].add(key.step)
            sums[pair] = [sums[pair][0] + moved, sums[pair][1] + taken]
    for pair, (moved, taken) in sums.items():
        transport, number = _transport(job, pair), len(steps[pair])
        rate, each = moved * 1e9 / taken, max(taken // number, 1)
        yield _Rated(("message", transport), pair, None, transport, None, rate, moved // number, each, None)


def _transport(job: JobParts, ranks: tuple[int, ...]) -> str | None:
    """Whether ranks are on one host; None if that is not known."""
    hosts = job.hosts(ranks)
    return None if hosts is None else "one host" if hosts == 1 else "several hosts"


def _groups(job: JobParts) -> Iterator[_Rated]:
    """Groups of ranks, by kind and size of their collectives."""
    named: dict[str, list[JobGroup]] = defaultdict(list)
    for (name, _), group in job.groups.items():
        named[name].append(group)
    for (name, kind), known in job.collectives.kinds():
        if len(named[name]) != 1:
            continue  # collectives of several groups of one name can't be distinguished
        group = named[name][0]
        members = group.members
        world = group.size or len(members)
        factor = bus_factor(kind, world)
        whole = (known.typical > 0) & (known.devices >= world) & (known.bytes >= _LARGE) & (known.shortest > 0)
        if factor is None or not factor:
            continue
        transport = _transport(job, members)
        for bytes_ in np.unique(known.bytes[whole]).tolist():
            taken = known.shortest[whole & (known.bytes == bytes_)]
            middle = int(np.median(taken))
            rate = bytes_ * factor * 1e9 / max(middle, 1)
            key = ("group", kind, bytes_, world, transport)
            yield _Rated(key, members, name, transport, kind, rate, bytes_, middle, taken.size)
