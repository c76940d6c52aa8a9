"""Run all checks on what is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stepscope.doctor.check import LEVELS, Advice, Check
from stepscope.doctor.checks import (
    allocator,
    amd,
    clocks,
    collectives,
    cpus,
    gpus,
    hccl,
    interfaces,
    libraries,
    limits,
    memory,
    misspelt,
    nccl_values,
    npus,
    numa,
    storage,
    switches,
    threads,
)
from stepscope.doctor.facts import Facts

_MODULES: Final = (
    libraries, gpus, amd, npus, switches, misspelt, allocator, collectives, nccl_values, hccl, interfaces,
    threads, cpus, numa, clocks, memory, limits, storage,
)  # fmt: skip
#: Every check, in the order in which they are made.
CHECKS: Final[tuple[Check, ...]] = tuple(
    one for module in _MODULES for one in vars(module).values() if isinstance(one, Check)
)


@dataclass(frozen=True, slots=True)
class Findings:
    """What the checks say.

    Attributes:
        advice: What to change, with the check that says so; the most serious first.
        fine: Checks that found nothing to change.
        unknown: Checks that lacked facts.
    """

    advice: tuple[tuple[Check, Advice], ...]
    fine: tuple[Check, ...]
    unknown: tuple[Check, ...]


def examine(facts: Facts) -> Findings:
    """Make every check."""
    said = [(one, one.look(facts)) for one in CHECKS]
    advice = [(one, each) for one, verdict in said for each in verdict or ()]
    advice.sort(key=lambda pair: LEVELS.index(pair[1].level))
    return Findings(
        tuple(advice),
        tuple(one for one, verdict in said if verdict == []),
        tuple(one for one, verdict in said if verdict is None),
    )


def table() -> Iterator[str]:
    """The checks as a table in Markdown."""
    yield "| check | says something where | source |"
    yield "|---|---|---|"
    for one in CHECKS:
        yield f"| `{one.name}` | {one.speaks} | {one.source} |"
