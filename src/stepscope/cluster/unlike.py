"""In what the recordings of a job's ranks are unlike each other: profilers, steps, numbers of collectives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stepscope.cluster.job import JobParts
from stepscope.language import said


@dataclass(frozen=True, slots=True)
class UnlikeSteps:
    """Ranks that were recorded at other steps than most.

    Attributes:
        common: Steps that all ranks recorded, ascending.
        usual: Steps that most ranks recorded.
        others: The steps of each other rank.
    """

    common: tuple[int, ...]
    usual: tuple[int, ...]
    others: dict[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class UnevenCalls:
    """Kinds of collectives that some ranks of a group recorded fewer of, in steps that all ranks recorded.

    Attributes:
        group: Process group.
        collective: Kind of collective.
        lacking: Collectives that not all ranks have which called this kind.
        of: All of this kind.
        ordered: Whether they match by their order.
    """

    group: str
    collective: str
    lacking: int
    of: int
    ordered: bool


def recorded_by(job: JobParts) -> dict[str, tuple[int, ...]]:
    """The ranks that each reader read, by its name."""
    found: dict[str, list[int]] = {}
    for rank, recording in sorted(job.recordings.items()):
        found.setdefault(recording.reader, []).append(rank)
    return {reader: tuple(ranks) for reader, ranks in found.items()}


def unlike_steps(job: JobParts) -> UnlikeSteps | None:
    """Ranks with other steps than most, where steps have recorded numbers; None where all have the same."""
    known = {rank: steps for rank, steps in job.numbered.items() if steps}
    if len(set(known.values())) < 2:
        return None
    usual = _most_common(known.values())
    others = {rank: tuple(sorted(steps)) for rank, steps in sorted(known.items()) if steps != usual}
    return UnlikeSteps(tuple(sorted(frozenset.intersection(*known.values()))), tuple(sorted(usual)), others)


def uneven_calls(job: JobParts) -> list[UnevenCalls]:
    """Kinds of collectives of which ranks recorded different numbers, the most uneven first."""
    steps = [steps for steps in job.numbered.values() if steps]
    common = np.array(sorted(frozenset.intersection(*steps)) if steps else [], np.int64)
    found = []
    for (group, kind), known in job.collectives.kinds():
        # Of what was taken apart it is the number of calls that tells.
        rows = np.isin(known.step, common)
        devices = known.devices[rows]
        if not devices.size or (most := int(known.devices.max())) < 2:
            continue
        lacking = int(np.count_nonzero(devices < most))
        if lacking:
            ordered = bool(np.any(known.key[rows][devices < most] % 2))
            found.append(UnevenCalls(group, kind, lacking, devices.size, ordered))
    return sorted(found, key=lambda one: (-one.lacking, one.group, one.collective))


def beyond_hand(job: JobParts) -> tuple[int, tuple[int, ...]] | None:
    """How many ranks the job has at least, and those that groups name and are not at hand; by process groups.

    None where the number of ranks is recorded, where one rank or one file is at hand, which holds all ranks of a host,
    or where nothing is communicated.
    """
    recordings = job.recordings.values()
    sources = {recording.source for recording in recordings}
    if len(sources) < 2 or any(recording.world_size for recording in recordings) or not any(job.called.values()):
        return None
    named = {rank for group in job.groups.values() for rank in group.ranks}
    largest = max((group.size for group in job.groups.values()), default=0)
    least = max(largest, *(rank + 1 for rank in (*named, *job.recordings)))
    return least, tuple(sorted(named - job.recordings.keys()))


def unknown_groups(job: JobParts) -> list[str]:
    """Stated groups whose recorded name is that of no group, and stated ranks that the job does not have."""
    names = {name for name, _ in job.groups} | {name for called in job.called.values() for name in called}
    size = max((recording.world_size or 0 for recording in job.recordings.values()), default=0)
    groups = [
        said("group {group}", group=one.group)
        for one in job.given
        if one.group and not one.ranks and one.group not in names
    ]
    ranks = (rank for one in job.given for rank in one.ranks if size and rank >= size)
    return [*groups, *(said("rank {rank}", rank=rank) for rank in ranks)]


def _most_common(steps: Iterable[frozenset[int]]) -> frozenset[int]:
    """The set that most have; of equally frequent ones that of the lowest rank."""
    return Counter(steps).most_common(1)[0][0]
