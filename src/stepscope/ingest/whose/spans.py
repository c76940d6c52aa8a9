"""Spans: several recordings of one rank, in time order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from stepscope.ingest.whose.accepted import AcceptedSpans
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.names import time_in


@dataclass(slots=True)
class RankSpans:
    """The recordings of each rank of a run, by position in the input.

    Attributes:
        ranks: Recordings with durations of each rank, in time order.
        contents: Memory snapshots of each rank, in time order.
        repeated: Recordings that are there twice.
        conflicts: Recordings whose rank another one has, recorded at the same time or at no known time.
        unknown: Recordings that do not contain their rank.
        ordered: Those of them whose rank or worker no name tells either, so that the order of the input decides.
    """

    ranks: dict[int, list[int]] = field(default_factory=dict)
    contents: dict[int, list[int]] = field(default_factory=dict)
    repeated: list[int] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)
    ordered: list[int] = field(default_factory=list)


def spans(found: Sequence[FoundRecordings], owners: Sequence[Hashable], members: Sequence[int]) -> RankSpans:
    """Divide the recordings of one run among its ranks.

    Those of one owner that were recorded one after the other are spans of one rank. A memory snapshot without a rank of
    its own belongs to the rank of the run, if there is one only. Whoever is left gets a free number.

    Args:
        found: All recordings.
        owners: Rank or worker of each.
        members: Positions of those of the run.
    """
    result = RankSpans(unknown=[position for position in members if found[position].recording.rank is None])
    groups, alone = _by_owner(found, owners, [p for p in members if found[p].timed], result)
    numbers = _RankNumbers(owner for owner in groups if isinstance(owner, int))
    rank_of = {owner: owner if isinstance(owner, int) else numbers.free() for owner in groups}
    result.ranks = {rank_of[owner]: group for owner, group in groups.items()}
    result.ordered = [position for position in alone if found[position].recording.rank is None]
    for position in alone:
        result.ranks[numbers.free()] = [position]
    snapshots: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position in members:
        if not found[position].timed:
            owner = rank_of.get(owners[position], owners[position])
            if not isinstance(owner, int) and len(result.ranks) == 1:
                [owner] = result.ranks
            snapshots[("alone", position) if owner is None else owner].append(position)
    numbers.taken.update(owner for owner in snapshots if isinstance(owner, int))
    for owner, group in snapshots.items():
        _sort(found, group)
        result.contents[owner if isinstance(owner, int) else numbers.free()] = group
    return result


def _by_owner(
    found: Sequence[FoundRecordings], owners: Sequence[Hashable], members: Sequence[int], result: RankSpans
) -> tuple[dict[Hashable, list[int]], list[int]]:
    """The spans of each owner, and the recordings without one."""
    groups: dict[Hashable, list[int]] = {}
    accepted: dict[Hashable, AcceptedSpans] = {}
    alone: list[int] = []
    # Whose rank is recorded has more right to it than whose is in a name.
    for position in sorted(members, key=lambda p: found[p].recording.rank is None):
        owner = owners[position]
        if owner is None:
            alone.append(position)
            continue
        group, spans = groups.setdefault(owner, []), accepted.setdefault(owner, AcceptedSpans(isinstance(owner, str)))
        if spans.has(found[position]):
            result.repeated.append(position)
        elif spans.conflict(found[position]):
            result.conflicts.append(position)
            alone.append(position)
        else:
            group.append(position)
            spans.add(found[position])
    for group in groups.values():
        _sort(found, group)
    return dict(sorted(groups.items(), key=lambda item: min(item[1]))), sorted(alone)


def _sort(found: Sequence[FoundRecordings], group: list[int]) -> None:
    """Put recordings in time order, by the time in the name where they have none."""
    if len(group) > 1:
        between = {position: found[position].between() or (0, 0) for position in group}
        group.sort(key=lambda position: (between[position][0], time_in(found[position].path) or 0, position))


class _RankNumbers:
    """Ranks that nobody has."""

    def __init__(self, taken: Iterable[int]) -> None:
        self.taken = set(taken)
        self._next = 0

    def free(self) -> int:
        """The smallest free number, taken from now on."""
        while self._next in self.taken:
            self._next += 1
        self.taken.add(self._next)
        return self._next
