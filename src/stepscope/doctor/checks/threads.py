"""Threads of each rank, and the CPUs there are for them."""

from __future__ import annotations

import re
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.doctor.machine import whole
from stepscope.language import said

_RANKS: Final = re.compile(r"--(?:nproc[-_]per[-_]node|num[-_]processes|num[-_]gpus)(?:=(\w+))?")
_TORCHRUN: Final = "[torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html)"


def ranks_here(facts: Facts) -> int:
    """Processes of the job on this machine, as its command line or its launcher says; 1 if neither does."""
    for at, word in enumerate(facts.program):
        if found := _RANKS.fullmatch(word):
            given = found[1] or (facts.program[at + 1] if at + 1 < len(facts.program) else "")
            if given in ("gpu", "auto"):
                return max(1, len(facts.gpus or ()) or facts.npus or 1)
            return max(1, whole(given) or 1)
    return max(1, whole(facts.environ.get("LOCAL_WORLD_SIZE")) or 1)


def usable_cpus(facts: Facts) -> float | None:
    """CPUs' worth of time for the job; None if unknown."""
    known = [len(facts.allowed)] if facts.allowed else [facts.cpus] if facts.cpus else []
    if not known:
        return None
    return min(float(known[0]), facts.cpu_quota if facts.cpu_quota is not None else float(known[0]))


@check("threads-contend", "`OMP_NUM_THREADS` times the ranks of this machine is more than there are CPUs", _TORCHRUN)
def threads_contend(facts: Facts) -> Verdict:
    """More threads than CPUs."""
    usable, threads = usable_cpus(facts), whole(facts.environ.get("OMP_NUM_THREADS"))
    if usable is None:
        return None
    ranks = ranks_here(facts)
    if threads is None or threads * ranks <= usable:
        return []
    what = said(
        "OMP_NUM_THREADS={threads} for {ranks} ranks on {usable:g} CPUs", threads=threads, ranks=ranks, usable=usable
    )
    why = said("threads wait for a CPU while others wait for them at the end of each operator")
    return [Advice("warning", what, why, f"OMP_NUM_THREADS={max(1, int(usable / ranks))}")]


@check(
    "threads-default",
    "several ranks on this machine have no `OMP_NUM_THREADS`: torchrun sets 1, and other launchers as many as CPUs",
    _TORCHRUN,
)
def threads_default(facts: Facts) -> Verdict:
    """Threads that nobody chose."""
    usable, ranks = usable_cpus(facts), ranks_here(facts)
    if usable is None:
        return None
    if ranks == 1 or "OMP_NUM_THREADS" in facts.environ or usable < 2 * ranks:
        return []
    why = said("torchrun gives each rank one thread for operators on the CPU, and other launchers give it one per CPU")
    change = said("OMP_NUM_THREADS={usable}, less what workers of data loaders need", usable=int(usable / ranks))
    return [Advice("info", said("OMP_NUM_THREADS is not set for {ranks} ranks", ranks=ranks), why, change)]
