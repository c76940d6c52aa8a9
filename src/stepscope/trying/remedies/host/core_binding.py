"""Give each rank cores of its own."""

from __future__ import annotations

import os

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    if not hasattr(os, "sched_setaffinity"):
        return said("this system binds no processes to cores")
    if seen.local_world < 2:
        return said("there is one rank on this machine")
    return said("there are more ranks than cores") if seen.cores < seen.local_world else ""


def _start(seen: Seen) -> bool:
    """Bind this process, and all that it starts, to its share of the cores that it may use."""
    place = os.environ.get("LOCAL_RANK", "")
    if not place.isdecimal() or int(place) >= seen.local_world:
        return False
    cores = sorted(os.sched_getaffinity(0))
    each = len(cores) // seen.local_world
    mine = cores[int(place) * each : (int(place) + 1) * each]
    if each:
        os.sched_setaffinity(0, mine)
    return bool(each)


REMEDY = OutsideRemedy(
    name="core-binding",
    title="Bind each rank to cores of its own",
    rules=("SYS001", "SYS007", "SYS008", "CLU003", "CLU009", "HST012"),
    # Its price is that of other processes, which this does not send away.
    unpriced=("SYS007",),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    start=_start,
    write=lambda seen: (
        f"taskset --cpu-list A-B python ...  # per rank, {seen.cores_per_rank} cores each; or numactl",
    ),
)
