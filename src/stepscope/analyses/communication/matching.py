"""The calls of ranks matched into collectives, one rank after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.model.coding import Codes
from stepscope.model.intervals import Times

#: Process group and kind of collective.
Kind = tuple[str, str]
#: Columns of `called.calls_of`.
Calls = dict[str, NDArray[Any]]
#: Collectives without a sequence number are numbered from here on in step 0, from twice this on in step 1, and so on.
STEP_KEYS: Final = 1 << 30
#: Kinds whose size differs between the ranks of one collective, as where some experts get more tokens.
_UNEVEN: Final = ("all_to_all",)


@dataclass(frozen=True, slots=True)
class MatchedCollectives:
    """The n collectives of one kind.

    Attributes:
        bytes: int64[n], largest size on any rank, -1 if not recorded, or if it may differ between ranks.
        size: int64[n], by which they match, as in `matched_size`.
        key: int64[n], what distinguishes those of one size: `_natural` of the sequence number, or of the order.
        shortest: int64[n], shortest duration on any rank, or `held` of `calls_of`.
        devices: int64[n], how many devices took part.
        total: int64[n], sum of their durations.
        last: int64[n], the rank on which it was shortest: all others waited for it.
        typical: int64[n], 1 if it lies in a typical step of every rank, else 0.
        step: int64[n], the step that it lies in on the rank `last`; -1 for none.
    """

    bytes: NDArray[np.int64]
    size: NDArray[np.int64]
    key: NDArray[np.int64]
    shortest: Times
    devices: NDArray[np.int64]
    total: Times
    last: NDArray[np.int64]
    typical: NDArray[np.int64]
    step: NDArray[np.int64]


@dataclass(slots=True)
class Matching:
    """Shortest duration and participants of each collective, over the ranks added so far.

    Collectives match by group, kind, and sequence number, else by size, if it is the same on all ranks, and order.
    Memory grows with the number of collectives, not with the number of their participants.
    """

    _known: dict[Kind, MatchedCollectives] = field(default_factory=dict)

    def add(self, calls: Calls) -> frozenset[str]:
        """Add all calls of one or more ranks, none of which was added before; returns their groups."""
        groups = set()
        for kind, rows in by_kind(calls):
            groups.add(kind[0])
            size, key = matched_size(kind, calls, rows), _natural(calls["key"][rows])
            once = Groups.by(size, key, calls["rank"][rows], calls["device"][rows]).first
            devices = Groups.by(size[once], key[once])
            dur, each = calls["dur"][rows], Groups.by(size, key)
            held = calls["held"][rows]
            shortest = _shortest(each, held)
            known = np.full_like(size, -1) if kind[1] in _UNEVEN else calls["bytes"][rows]
            new = MatchedCollectives(
                -each.least(-known), size[each.first], key[each.first], held[shortest], devices.count, each.sum(dur),
                calls["rank"][rows][shortest].astype(np.int64), each.least(calls["typical"][rows].astype(np.int64)),
                calls["step"][rows][shortest].astype(np.int64),
            )  # fmt: skip
            self._merge(kind, new)
        return frozenset(groups)

    def of(self, calls: Calls) -> tuple[Times, NDArray[np.int32]]:
        """Shortest duration on any rank and number of participants, of calls that were added; int64[n], int32[n]."""
        shortest, devices = np.zeros(calls["event"].size, np.int64), np.zeros(calls["event"].size, np.int32)
        for rows, known, found in self._matched(calls):
            shortest[rows] = np.minimum(known.shortest[found], calls["dur"][rows])
            devices[rows] = known.devices[found]
        return shortest, devices

    def settle(self) -> None:
        """Take apart what matches by order in a step in which ranks recorded different numbers of calls.

        There it is not known which calls belong together, so that nobody is said to wait. Called once, when all ranks
        are added.
        """
        self._known = {kind: _settled(known) for kind, known in self._known.items()}

    def last(self, calls: Calls) -> NDArray[np.int64]:
        """The rank that came last to each of the calls that were added; int64[n]."""
        last = np.zeros(calls["event"].size, np.int64)
        for rows, known, found in self._matched(calls):
            last[rows] = known.last[found]
        return last

    def part(self, groups: Collection[str]) -> Matching:
        """The collectives of some groups: what a rank of these needs to know."""
        return Matching({kind: known for kind, known in self._known.items() if kind[0] in groups})

    def kinds(self) -> Iterator[tuple[Kind, MatchedCollectives]]:
        """The collectives of each group and kind."""
        yield from self._known.items()

    def _matched(self, calls: Calls) -> Iterator[tuple[NDArray[np.int64], MatchedCollectives, NDArray[np.int64]]]:
        """Rows of one kind, the collectives of that kind, and which of them each row is."""
        for kind, rows in by_kind(calls):
            known = self._known[kind]
            size, key = matched_size(kind, calls, rows), _natural(calls["key"][rows])
            both = Groups.by(np.concatenate([known.size, size]), np.concatenate([known.key, key]))
            # A call that was not added is an index out of bounds.
            at = np.full(both.count.size, known.key.size)
            at[both.index[: known.key.size]] = np.arange(known.key.size)
            yield rows, known, at[both.index[known.key.size :]]

    def _merge(self, kind: Kind, new: MatchedCollectives) -> None:
        old = self._known.get(kind)
        if old is None:
            self._known[kind] = new
            return
        columns = {one.name: np.concatenate([getattr(old, one.name), getattr(new, one.name)]) for one in fields(new)}
        both = Groups.by(columns["size"], columns["key"])
        shortest = _shortest(both, columns["shortest"])
        self._known[kind] = MatchedCollectives(
            -both.least(-columns["bytes"]), columns["size"][both.first], columns["key"][both.first],
            columns["shortest"][shortest],
            both.sum(columns["devices"]), both.sum(columns["total"]), columns["last"][shortest],
            both.least(columns["typical"]), columns["step"][shortest],
        )  # fmt: skip


def _settled(known: MatchedCollectives) -> MatchedCollectives:
    number = (known.key + 1) // 2  # of those by order: the opposite of `_natural`
    step = np.where(known.key % 2 == 1, number // STEP_KEYS, -1)
    each = Groups.by(step)
    uneven = (each.least(known.devices) < -each.least(-known.devices))[each.index] & (step > 0)
    if not uneven.any():
        return known
    return replace(
        known,
        shortest=np.where(uneven, known.total, known.shortest),
        devices=np.where(uneven, 1, known.devices),
        typical=np.where(uneven, 0, known.typical),
    )


def _shortest(groups: Groups, dur: Times) -> NDArray[np.int64]:
    """Row of the shortest duration of each group, the first of several."""
    order = np.lexsort((dur, groups.index))
    found: NDArray[np.int64] = order[np.searchsorted(groups.index[order], np.arange(groups.count.size))]
    return found


def by_kind(calls: Calls) -> Iterator[tuple[Kind, NDArray[np.int64]]]:
    """Group and kind of collective, with the rows that have it."""
    if not calls["event"].size:
        return
    group, name = Codes.of(calls["group"]), Codes.of(calls["collective"])
    kinds = Groups.by(group.code, name.code)
    order = np.argsort(kinds.index, kind="stable")
    for first, rows in zip(kinds.first.tolist(), np.split(order, np.cumsum(kinds.count)[:-1]), strict=True):
        yield (group.words[group.code[first]], name.words[name.code[first]]), rows


def matched_size(kind: Kind, calls: Calls, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sizes by which some calls of one kind match, int64: -1 where it does not count.

    So for kinds of which each rank has another one, and where a sequence number tells: of small collectives some ranks
    record no size, or another one. Calls that a rank makes together have one number, and match by size, too.
    """
    size, key = calls["bytes"][rows], calls["key"][rows]
    if kind[1] in _UNEVEN:
        return np.full_like(size, -1)
    same = Groups.by(_natural(key), calls["rank"][rows], calls["device"][rows])
    return np.where((key < 0) | (same.count > 1)[same.index], size, -1)


def _natural(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Integers as natural numbers: even ones for those from 0 on."""
    return np.where(key >= 0, 2 * key, -2 * key - 1)
