"""The job that a recording is of: its devices, how many, and the groups that its collectives show."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from stepscope.analyses.program.decide import program_of
from stepscope.analyses.registry import analyses, table_of
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace

#: Names of groups, as frameworks give them, and the field of a layout that their size is.
_GROUPS: Final = {"tp": "tp", "pp": "pp", "cp": "cp", "ep": "ep", "dp": "dp", "dp_cp": "dp"}


@dataclass(frozen=True, slots=True)
class RecordedJob:
    """What a recording tells of its job.

    Attributes:
        devices: Ranks of the job.
        device: The device's recorded name; empty if there is none.
        groups: Sizes of parallel groups by field of `Layout`, as far as groups are named.
        infers: What it is if it runs a model without training it, in words; else empty.
    """

    devices: int
    device: str
    groups: dict[str, int]
    infers: str = ""

    @property
    def words(self) -> str:
        """The groups in words."""
        return ", ".join(f"{name} {size}" for name, size in sorted(self.groups.items()))


def recorded_job(trace: Trace) -> RecordedJob:
    """The job of a recording."""
    world = max((one.world_size or 0 for one in trace.recordings.values()), default=0)
    name = trace.scalar("SELECT max(name) FROM devices WHERE used") or ""
    groups: dict[str, int] = {}
    with suppress(MissingInputError):
        one = trace.rank(trace.ranks[0])
        for row in table_of(analyses()["collectives"], one).records():
            found = re.match(r"(\w+) of ranks", row["group"] or "")
            if found and found[1] in _GROUPS and row["world_size"]:
                groups[_GROUPS[found[1]]] = row["world_size"]
    program = program_of(trace.rank(trace.ranks[0]))
    return RecordedJob(max(world, len(trace.ranks)), str(name), groups, str(program) if program.infers else "")
