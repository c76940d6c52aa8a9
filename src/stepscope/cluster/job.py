"""A job as its ranks are added one by one; its size does not grow with the number of their events."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.analyses.communication.matching import Calls, Matching
from stepscope.cluster.clocks import Clocks
from stepscope.cluster.part import GroupPart, RankTimes
from stepscope.model.recording import Recording


@dataclass(slots=True)
class JobParts:
    """What is known of a job's ranks together.

    Attributes:
        recordings: Metadata of each rank's recording.
        collectives: Their collectives, matched.
        clocks: Ends of collectives by host.
        members: Names of the groups in which each rank called collectives.
        groups: Process groups of each rank.
        times: Where each rank's mean typical step goes.
    """

    recordings: dict[int, Recording] = field(default_factory=dict)
    collectives: Matching = field(default_factory=Matching)
    clocks: Clocks = field(default_factory=Clocks)
    members: dict[int, frozenset[str]] = field(default_factory=dict)
    groups: dict[int, list[GroupPart]] = field(default_factory=dict)
    times: dict[int, RankTimes] = field(default_factory=dict)

    def host(self, rank: int) -> str | None:
        """The host of a rank; None if not recorded."""
        return self.recordings[rank].host

    def add(self, rank: int, recording: Recording, calls: Calls, groups: list[GroupPart]) -> None:
        """Add a rank's calls of collectives and its process groups."""
        self.recordings[rank] = recording
        self.members[rank] = self.collectives.add(calls)
        self.clocks.add(rank, recording.host, recording.origin_unix_ns, calls)
        self.groups[rank] = groups
