"""Sums of communication by process group, over ranks, as `cluster_communication.json` of Ascend's tools has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.model.trace import Trace

#: Numbers by name.
Values = dict[str, float]
#: What an operation did on each rank, or link.
Operation = dict[str, Any]

_SQL: Final = """
SELECT source, step, subject, metric, value FROM recorded
WHERE source IN ('communication', 'bandwidth', 'packets', 'matrix', 'matrix operation')
    AND ($steps IS NULL OR step IN (SELECT unnest($steps)))
"""
_TIME: Final = "Communication Time Info"
_BANDWIDTH: Final = "Communication Bandwidth Info"
_SIZES: Final = "Size Distribution"
_TOTAL: Final = "Total Op Info"
#: Parts of an operation's time and what they are a share of together with the transit time.
_RATIOS: Final = {"Wait Time Ratio": "Wait Time(ms)", "Synchronization Time Ratio": "Synchronization Time(ms)"}
_TRANSIT: Final = "Transit Time(ms)"
_SIZE: Final = "Transit Size(MB)"
_RATE: Final = "Bandwidth(GB/s)"


@dataclass(slots=True)
class Group:
    """The sums of one process group.

    Attributes:
        name: As recorded.
        kind: collective or p2p.
        ranks: Ranks at hand that took part.
        members: All its ranks in their order, if recorded.
        communication: By step, operation and rank.
        matrix: By step, operation and link, whose ends count within the group.
        places: Place in the group of ranks at hand.
    """

    name: str
    kind: str
    ranks: set[int] = field(default_factory=set)
    members: tuple[int, ...] = ()
    communication: dict[str, dict[str, dict[str, Operation]]] = field(default_factory=dict)
    matrix: dict[str, dict[str, dict[str, Operation]]] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)

    def by_step(self, what: str) -> Iterator[tuple[str, dict[str, Operation]]]:
        """Operations of each step, with their total."""
        if what == "communication":
            for step, operations in self.communication.items():
                yield step, {**operations, f"{_TOTAL}@{self.name}": _total(operations)}
        else:
            known = {place: rank for rank, place in self.places.items()} | dict(enumerate(self.members))
            for step, operations in self.matrix.items():
                named = {name: _named(links, known) for name, links in operations.items()}
                yield step, {**named, f"{_TOTAL}@{self.name}": _all_links(named)}


class GroupSums:
    """The sums of all groups, rank by rank.

    Attributes:
        groups: By name.
    """

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}

    def add(self, trace: Trace, steps: list[str] | None) -> None:
        """Add a rank's sums of some steps, or all."""
        rank = trace.ranks[0]
        for row in trace.rows(_SQL, {"steps": steps}):
            kind, _, what = row["subject"].partition(" ")
            words = what.split(" ")
            _, at, name = words[0].rpartition("@")
            if not at:
                continue  # the rank's own totals, over all groups
            group = self.groups.setdefault(name, Group(name, kind))
            step = row["step"] or ""
            if row["source"] in ("matrix", "matrix operation"):
                self._add_link(group, step, words, row, rank)
                continue
            group.ranks.add(rank)
            own = group.communication.setdefault(step, {}).setdefault(words[0], {}).setdefault(str(rank), _empty())
            _add(own, words[1:], row)
        for row in trace.rows('SELECT "group", any_value(ranks) AS ranks FROM groups WHERE len(ranks) > 1 GROUP BY 1'):
            if row["group"] in self.groups:
                self.groups[row["group"]].members = tuple(row["ranks"])

    @staticmethod
    def _add_link(group: Group, step: str, words: list[str], row: dict[str, Any], rank: int) -> None:
        """Add a number of a link: operation, link and transport are in words."""
        link = words[1]
        source, _, target = link.partition("-")
        if source == target and source.isdigit():
            group.places[rank] = int(source)
        found = group.matrix.setdefault(step, {}).setdefault(words[0], {}).setdefault(link, {"Op Name": ""})
        found["Transport Type"] = " ".join(words[2:])
        if row["source"] == "matrix":
            found[row["metric"]] = row["value"]
        else:
            found["Op Name"] = row["metric"]

    def by_ranks(self) -> list[tuple[str, list[Group]]]:
        """Groups of the same ranks, by these as the files write them: `(0, 1)`."""
        found: dict[str, list[Group]] = {}
        for group in self.groups.values():
            if group.ranks:
                found.setdefault(str(tuple(sorted(group.ranks))), []).append(group)
        return list(found.items())


def _empty() -> Operation:
    return {_TIME: {}, _BANDWIDTH: {}}


def _add(own: Operation, words: list[str], row: dict[str, Any]) -> None:
    """Add a number of an operation on a rank: nothing, a transport, or transport and size, are in words."""
    if row["source"] == "communication":
        own[_TIME][row["metric"]] = row["value"]
        return
    transport = own[_BANDWIDTH].setdefault(words[0], {_SIZES: {}})
    if row["source"] == "bandwidth":
        transport[row["metric"]] = row["value"]
    else:
        pair = transport[_SIZES].setdefault(words[1], [0, 0.0])
        pair[row["metric"] != "Count"] = row["value"]


def _total(operations: dict[str, Operation]) -> Operation:
    """The sum of operations, on each rank."""
    found: dict[str, Operation] = {}
    for ranks in operations.values():
        for rank, own in ranks.items():
            total = found.setdefault(rank, _empty())
            for metric, value in own[_TIME].items():
                if metric != "Start Timestamp(us)" and metric not in _RATIOS:
                    total[_TIME][metric] = total[_TIME].get(metric, 0.0) + value
            for transport, values in own[_BANDWIDTH].items():
                _add_transport(total[_BANDWIDTH].setdefault(transport, {_TRANSIT: 0, _SIZE: 0, _SIZES: {}}), values)
    for total in found.values():
        times = total[_TIME]
        for ratio, part in _RATIOS.items():
            times[ratio] = _ratio(times.get(part, 0.0), times.get(part, 0.0) + times.get(_TRANSIT, 0.0))
        for values in total[_BANDWIDTH].values():
            values[_RATE] = _ratio(values[_SIZE], values[_TRANSIT])
    return found


def _add_transport(total: dict[str, Any], values: dict[str, Any]) -> None:
    for metric in (_TRANSIT, _SIZE):
        total[metric] += values.get(metric, 0.0)
    for size, (number, taken) in values[_SIZES].items():
        pair = total[_SIZES].setdefault(size, [0, 0.0])
        pair[0] += number
        pair[1] += taken


def _named(links: dict[str, Operation], known: dict[int, int]) -> dict[str, Operation]:
    """Links between ranks of the job; those with an end that is not known are left out."""
    found = {}
    for link, values in links.items():
        ends = [known.get(int(end)) if end.isdigit() else None for end in link.split("-")]
        if None not in ends:
            found["-".join(map(str, ends))] = values
    return found


def _all_links(operations: dict[str, Operation]) -> Operation:
    """The sum of all kinds of operations, on each link."""
    found: dict[str, Operation] = {}
    for name, links in operations.items():
        if not name.partition("@")[0].endswith("-total"):
            continue
        for link, values in links.items():
            total = found.setdefault(link, {"Op Name": "", _TRANSIT: 0.0, _SIZE: 0.0})
            total["Transport Type"] = values.get("Transport Type", "")
            for metric in (_TRANSIT, _SIZE):
                total[metric] += values.get(metric, 0.0)
    for total in found.values():
        total[_RATE] = _ratio(total[_SIZE], total[_TRANSIT])
    return found


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0
