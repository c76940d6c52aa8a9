"""Assign a rank to each recording of an input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from stepscope.model.recording import Recording
from stepscope.model.trace import Note

_IN_NAME: Final = re.compile(r"(?:rank|worker|local_rank|device|gpu|npu)[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)


def assign_ranks(recordings: Sequence[Recording]) -> tuple[list[int], list[Note]]:
    """A distinct rank for each recording, and notes on assumptions made.

    Taken from the recorded rank, else from a number in the file's name, else from the position in the input; processes
    of one file are consecutive.
    """
    wanted = [recording.rank for recording in recordings]
    if len(recordings) > 1:
        wanted = [_from_name(r) if rank is None else rank for rank, r in zip(wanted, recordings, strict=True)]
    taken: dict[int, int] = {}
    conflicts = 0
    for position, rank in enumerate(wanted):
        if rank is not None and 0 <= rank < 2**31:
            if rank in taken:
                conflicts += 1
            else:
                taken[rank] = position
    ranks = [-1] * len(recordings)
    for rank, position in taken.items():
        ranks[position] = rank
    free = (number for number in range(len(recordings) + len(taken) + 1) if number not in taken)
    ranks = [next(free) if rank < 0 else rank for rank in ranks]
    notes: list[Note] = []
    if conflicts:
        notes.append(
            (
                "rank-conflict", "warning", conflicts,
                "a recording claims a rank that another one has" if conflicts == 1
                else "recordings claim a rank that another one has",
                "they were given free numbers; if they are steps of one rank, analyse them one by one",
            )
        )  # fmt: skip
    missing = sum(recording.rank is None for recording in recordings)
    if missing and len(recordings) > 1:
        notes.append(
            (
                "rank-unknown", "info", missing,
                "a recording does not contain its rank" if missing == 1 else "recordings do not contain their rank",
                "ranks were taken from file names or from the order of files and processes",
            )
        )  # fmt: skip
    size = max((recording.world_size or 0 for recording in recordings), default=0)
    if size > len(recordings):
        notes.append(
            (
                "ranks-missing", "info", size - len(recordings),
                f"a rank of the job's {size} is not given" if size - len(recordings) == 1
                else f"ranks of the job's {size} are not given",
                "in collectives, waiting can't be separated from transfer; give the recordings of all ranks",
            )
        )  # fmt: skip
    return ranks, notes


def _from_name(recording: Recording) -> int | None:
    if recording.part or recording.parts:
        # A number in the file's name does not identify one of its processes.
        return None
    found = _IN_NAME.findall(recording.source.replace("\\", "/").rsplit("/", 1)[-1])
    return int(found[0]) if found else None
