"""Sums of communication by process group, over ranks, as `cluster_communication.json` of Ascend's tools has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from stepscope.reports.exports.ascend_operations import Operation, add_number, empty, sum_on_links, sum_on_ranks
from stepscope.reports.exports.ascend_rank import RankSums

#: Numbers by name.
Values = dict[str, float]

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

    def add(self, rank: RankSums) -> None:
        """Add a rank's sums."""
        for source, step, subject, metric, value in rank.sums:
            kind, _, what = subject.partition(" ")
            words = what.split(" ")
            _, at, name = words[0].rpartition("@")
            if not at:
                continue  # times of steps, and the rank's own totals, over all groups
            group = self.groups.setdefault(name, Group(name, kind))
            if source in ("matrix", "matrix operation"):
                self._add_link(group, step or "", words, (source, metric, value), rank.rank)
                continue
            group.ranks.add(rank.rank)
            operations = group.communication.setdefault(step or "", {}).setdefault(words[0], {})
            add_number(operations.setdefault(str(rank.rank), empty()), words[1:], source, metric, value)
        for name, members in rank.groups.items():
            if name in self.groups:
                self.groups[name].members = members

    @staticmethod
    def _add_link(group: Group, step: str, words: list[str], number: tuple[str, str, float], rank: int) -> None:
        """Add a number of a link: operation, link and transport are in words."""
        link = words[1]
        source, _, target = link.partition("-")
        if source == target and source.isdigit():
            group.places[rank] = int(source)
        found = group.matrix.setdefault(step, {}).setdefault(words[0], {}).setdefault(link, {"Op Name": ""})
        found["Transport Type"] = " ".join(words[2:])
        what, metric, value = number
        if what == "matrix":
            found[metric] = value
        else:
            found["Op Name"] = metric

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
