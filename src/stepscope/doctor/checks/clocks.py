"""Clocks of CPUs."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.language import said

#: What keeps clocks high, or lets the processor choose them by itself.
_FAST: Final = frozenset({"performance"})


@check(
    "cpu-governor",
    "the clocks of CPUs are chosen by another governor than `performance`",
    "[Linux](https://docs.kernel.org/admin-guide/pm/cpufreq.html)",
)
def cpu_governor(facts: Facts) -> Verdict:
    """Clocks that follow the load."""
    if facts.governors is None:
        return None
    slow = sorted(facts.governors - _FAST)
    if not slow:
        return []
    why = said("a thread that launches kernels sleeps often, so that its CPU's clock is low when it wakes up")
    return [
        Advice(
            "info",
            said("CPU governor {slow}", slow=", ".join(slow)),
            why,
            "cpupower frequency-set -g performance on the host",
        )
    ]
