"""Sums of communication by process group, over ranks, as `cluster_communication.json` of Ascend's tools has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.model.trace import Trace
from stepscope.reports.exports.ascend_operations import Operation, add_number, empty, sum_on_links, sum_on_ranks

#: Numbers by name.
Values = dict[str, float]

_SQL: Final = """
SELECT source, step, subject, metric, value FROM recorded
WHERE source IN ('communication', 'bandwidth', 'packets', 'matrix', 'matrix operation')
    AND ($steps IS NULL OR step IN (SELECT unnest($steps)))
"""
_TOTAL: Final = "Total Op Info"


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
                yield step, {**operations, f"{_TOTAL}@{self.name}": sum_on_ranks(operations)}
        else:
            known = {place: rank for rank, place in self.places.items()} | dict(enumerate(self.members))
            for step, operations in self.matrix.items():
                named = {name: _named(links, known) for name, links in operations.items()}
                yield step, {**named, f"{_TOTAL}@{self.name}": sum_on_links(named)}


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
            own = group.communication.setdefault(step, {}).setdefault(words[0], {}).setdefault(str(rank), empty())
            add_number(own, words[1:], row)
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


def _named(links: dict[str, Operation], known: dict[int, int]) -> dict[str, Operation]:
    """Links between ranks of the job; those with an end that is not known are left out."""
    found = {}
    for link, values in links.items():
        ends = [known.get(int(end)) if end.isdigit() else None for end in link.split("-")]
        if None not in ends:
            found["-".join(map(str, ends))] = values
    return found
