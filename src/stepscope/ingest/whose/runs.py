"""Runs: sub-folders of an input whose ranks clash, and recordings of other jobs in one folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Final

from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.owners import common_folder

#: Ranks of one job are recorded at the same time, by clocks that differ by less than this.
_APART_NS: Final = 60_000_000_000


def runs(found: Sequence[FoundRecordings], owners: Sequence[Hashable]) -> list[str]:
    """The run of each recording: the sub-folder that holds it, or "" if the input is one run.

    Folders are divided no deeper than is needed for each rank to lie in one folder of its run. Ranks of the same number
    that ran at the same time on different hosts are no runs, but ranks in conflict. A recording whose rank nothing
    tells, and that was made at another time than all others, is a run of its own, named by its file.
    """
    others = _other_jobs(found, owners)
    divided = _by_folder(found, owners)
    return [others.get(position, run or ".") for position, run in enumerate(divided)] if others else divided


def _by_folder(found: Sequence[FoundRecordings], owners: Sequence[Hashable]) -> list[str]:
    depth = len(common_folder(found).parts)
    folders = [one.path.parent.parts[depth:] for one in found]
    if not _clash(owners, folders, [""] * len(found)) or _concurrent(found, owners, folders):
        return [""] * len(found)
    for level in range(1, max(map(len, folders)) + 1):
        divided = ["/".join(folder[:level]) or "." for folder in folders]
        if not _clash(owners, folders, divided):
            break
    return divided


def _other_jobs(found: Sequence[FoundRecordings], owners: Sequence[Hashable]) -> dict[int, str]:
    """Names of the recordings that are no rank of the others' job, by position."""
    unknown = {
        position
        for position, one in enumerate(found)
        if owners[position] is None and one.recording.rank is None and one.timed and not one.only_part
    }
    timed = [(*between, p) for p, one in enumerate(found) if unknown and one.timed and (between := one.between())]
    depth, jobs, latest = len(common_folder(found).parts), list[list[int]](), 0
    for start, end, position in sorted(timed):
        if not jobs or start - latest > _APART_NS:
            jobs.append([])
        jobs[-1].append(position)
        latest = max(latest, end)
    alone = [job[0] for job in jobs if len(jobs) > 1 and len(job) == 1 and job[0] in unknown]
    return {position: "/".join(found[position].path.parts[depth:]) for position in alone}


def _clash(owners: Sequence[Hashable], folders: Sequence[tuple[str, ...]], divided: Sequence[str]) -> bool:
    """Whether the recordings of one owner lie in several folders of a run."""
    places: dict[tuple[str, Hashable], tuple[str, ...]] = {}
    keys = zip(divided, owners, folders, strict=True)
    return any(places.setdefault((run, owner), folder) != folder for run, owner, folder in keys if owner is not None)


def _concurrent(
    found: Sequence[FoundRecordings], owners: Sequence[Hashable], folders: Sequence[tuple[str, ...]]
) -> bool:
    of_owner: defaultdict[Hashable, list[tuple[FoundRecordings, tuple[str, ...]]]] = defaultdict(list)
    for one, owner, folder in zip(found, owners, folders, strict=True):
        if owner is not None and one.recording.host is not None:
            of_owner[owner].append((one, folder))
    return any(
        folder != other_folder and one.recording.host != other.recording.host and at_once(one, other)
        for group in of_owner.values()
        for (one, folder), (other, other_folder) in combinations(group, 2)
    )


def at_once(one: FoundRecordings, other: FoundRecordings) -> bool:
    """Whether two recordings cover the same time: more than half of the shorter one lies in the longer one."""
    first, second = one.between(), other.between()
    if first is None or second is None:
        return False
    shorter = min(first[1] - first[0], second[1] - second[0])
    return 2 * (min(first[1], second[1]) - max(first[0], second[0])) > shorter
