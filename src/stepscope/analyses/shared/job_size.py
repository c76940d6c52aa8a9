"""How many ranks, hosts and devices a job has, as far as the recordings at hand show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stepscope.model.recording import Recording
from stepscope.model.trace import Trace

_USED_SQL: Final = "SELECT device FROM devices WHERE used"


@dataclass(frozen=True, slots=True)
class JobSize:
    """Numbers about the recordings of a job, of any number of ranks.

    Attributes:
        ranks: Ranks at hand.
        world_size: Largest recorded number of ranks; 0 if none is recorded.
        hosts: Different hosts with a name.
        unnamed: Ranks whose host is not recorded.
        sources: Different inputs that the ranks were read from.
        used: Devices in use, counted for each rank.
        numbers: Different numbers of these devices.
        least: Ranks that the job has at least, by the highest number of those at hand.
    """

    ranks: int
    world_size: int
    hosts: int
    unnamed: int
    sources: int
    used: int
    numbers: int
    least: int

    @classmethod
    def of(cls, recordings: Mapping[int, Recording], used: list[int | None]) -> JobSize:
        """Count recordings by rank, and the numbers of the devices in use, one for each rank and device."""
        every = recordings.values()
        named = [recording.host for recording in every if recording.host is not None]
        return cls(
            len(recordings),
            max((recording.world_size or 0 for recording in every), default=0),
            len(set(named)),
            len(recordings) - len(named),
            len({recording.source for recording in every}),
            len(used),
            len(set(used)),
            max(len(recordings), max(recordings, default=-1) + 1),
        )


def job_size(job: Trace) -> JobSize:
    """The size of the job that a trace of all its ranks holds."""
    return JobSize.of(job.recordings, used_devices(job))


def used_devices(trace: Trace) -> list[int | None]:
    """Numbers of the devices in use, one for each rank and device."""
    return [row["device"] for row in trace.rows(_USED_SQL)]
