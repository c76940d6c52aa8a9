"""CPUs that a job may use."""

from __future__ import annotations

import math
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.checks.threads import ranks_here, usable_cpus
from stepscope.doctor.facts import Facts
from stepscope.language import said

_CGROUP: Final = "[Linux](https://docs.kernel.org/admin-guide/cgroup-v2.html)"
#: Share of periods without time left that is worth a word.
_THROTTLED: Final = 0.05
#: CPUs per rank: its main thread, that of the backward pass, and workers of a data loader.
_PER_RANK: Final = 4


@check("cpu-limit", "the control group gets less CPU time than it shows CPUs", _CGROUP)
def cpu_limit(facts: Facts) -> Verdict:
    """Quotas that libraries do not see."""
    visible = len(facts.allowed) if facts.allowed else facts.cpus
    if facts.cpu_quota is None or visible is None:
        return None
    if math.isinf(facts.cpu_quota) or facts.cpu_quota >= visible:
        return []
    what = said(
        "CPU time of {cpu_quota:g} CPUs, and {visible} CPUs are visible", cpu_quota=facts.cpu_quota, visible=visible
    )
    why = said(
        "libraries start a thread per visible CPU; when the time is used up, all of them stop for the rest of 100 ms"
    )
    change = said(
        "raise the limit of the container, or OMP_NUM_THREADS={value}",
        value=max(1, int(facts.cpu_quota / ranks_here(facts))),
    )
    return [Advice("warning", what, why, change)]


@check(
    "cpu-throttled",
    f"the control group had used up its CPU time in more than {100 * _THROTTLED:.0f} % of periods",
    _CGROUP,
)
def cpu_throttled(facts: Facts) -> Verdict:
    """Quotas that were reached."""
    if facts.throttled is None:
        return None
    if facts.throttled <= _THROTTLED:
        return []
    what = said(
        "CPU time was used up in {value:.0f} % of periods since this container started", value=100 * facts.throttled
    )
    return [
        Advice("warning", what, "all threads stop until the next period", "raise the limit, or start fewer threads")
    ]


@check(
    "cpus-per-rank",
    f"there are fewer than {_PER_RANK} CPUs per rank of this machine",
    "PyTorch's data loader and autograd",
)
def cpus_per_rank(facts: Facts) -> Verdict:
    """Too few CPUs."""
    usable, ranks = usable_cpus(facts), ranks_here(facts)
    if usable is None:
        return None
    if usable >= _PER_RANK * ranks:
        return []
    what = said("{usable:g} CPUs for {ranks} rank{en_s}", usable=usable, ranks=ranks, en_s="s" if ranks > 1 else "")
    why = said("the loop, the backward pass and workers of the data loader wait for each other")
    visible = facts.allowed is not None and facts.cpus is not None and len(facts.allowed) < facts.cpus
    change = said("bind the job to more CPUs (taskset, --cpus-per-task)") if visible else said("ask for more CPUs")
    return [Advice("warning", what, why, change)]
