"""Long kernels have too few resident threads.

## What it finds
Kernels of 100 µs and more whose threads fill less than an eighth of what the SMs or CUs hold, or whose grid is too
small to fill a quarter of it.

## Why it matters
An SM or CU hides the latency of memory by switching to other threads. With few of them it stalls.

## How it decides
Occupancy follows from block size, registers, shared memory and grid (table `occupancy_grids`). It must be below
`max_occupancy`, or below `max_filled` where the grid is what limits it, and such a kernel must take `min_share` of the
step. The finding names the limit. It has no price: how much more threads would help depends on what each waits for.

## What to try
Block size: blocks of 128 to 256 threads, multiples of the warp. Registers: smaller tiles, `__launch_bounds__`, fewer
live values; spilling costs more than it gains. Shared memory: smaller tiles, narrower types, fewer stages. Grid: more
blocks, less work per thread, a loop that is split. Of kernels of PyTorch and its libraries only the grid can be
changed, by what is asked of them in a call.

## Known limits
Low occupancy is right where each thread has enough independent work: matrix multiplications and attention hold tiles in
registers and shared memory on purpose and do not count, nor do kernels near the roofline. Persistent kernels have one
block per SM on purpose. The limit on blocks per SM is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural, quantity
from stepscope.model.kernel_names import classify
from stepscope.model.program import Program
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.library_kernels import is_library, more_blocks
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.occupying import Occupying, places
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.program import program

_TEAMS: Final = Action(
    "Launch more teams: the runtime's default does not grow with the loop",
    before="#pragma omp target teams distribute parallel for",
    after="#pragma omp target teams distribute parallel for num_teams(N / 256) thread_limit(256)\n"
    "// or: export OMP_NUM_TEAMS=... OMP_TEAMS_THREAD_LIMIT=256",
    page="memory-access",
    needs=("openmp",),
)
_GANGS: Final = Action(
    "Launch more gangs: spread outer loops over them, too",
    before="#pragma acc parallel loop gang vector",
    after="#pragma acc parallel loop gang vector collapse(2) vector_length(256)   // or num_gangs(N / 256)",
    page="memory-access",
    needs=("openacc",),
)
#: A smaller occupancy is worth a digit.
_ROUND: Final = 0.01
_BLOCK: Final = Action("Make blocks a multiple of the warp, 128 to 256 threads", page="memory-access")
_REGISTERS: Final = Action(
    "Let a thread hold less: smaller tiles, or a bound on registers (watch for spilling)",
    before="__global__ void kernel(...)",
    after="__global__ void __launch_bounds__(256, 4) kernel(...)   // Triton: num_warps, smaller BLOCK sizes",
    page="memory-access",
)
_SHARED: Final = Action("Make tiles in shared memory smaller, or keep fewer stages of them", page="memory-access")
_ACTIONS: Final = {"block size": _BLOCK, "registers": _REGISTERS, "shared memory": _SHARED}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of such kernels with the step."""
    told = s(program)
    low = [one for one in s(places) if one.share >= limits["min_share"] and _is_low(one, limits, told)]
    if not low:
        return
    worst, steps = low[0], s(recorded_steps)
    yield Draft(
        title="Long kernels have few threads",
        summary=said(
            "{short} takes {total} per step ({share}) at an occupancy of {occupancy}, limited by {why}.",
            short=classify(worst.name).short, total=duration(worst.total_ns // steps), share=percent(worst.share),
            occupancy=percent(worst.occupancy, 0 if worst.occupancy >= _ROUND else 1), why=_why(worst),
        ),
        actions=(_action(worst, told),),
        taken_ns=sum(one.total_ns for one in low) // steps,
        confidence=0.6,
        events=worst.events[:20],
        rows=tuple({"table": "occupancy_grids", "where": {"name": one.name}} for one in low[:3]),
        numbers={"occupancy": round(worst.occupancy, 4), **limits},
    )  # fmt: skip


def _is_low(one: Occupying, limits: Limits, told: Program) -> bool:
    # What a library's kernel holds in registers and shared memory is its own choice.
    if one.limit != "grid" and is_library(one.name, told):
        return False
    return one.occupancy < limits["max_filled" if one.limit == "grid" else "max_occupancy"]


def _why(one: Occupying) -> str:
    threads = said("{threads:,.0f} threads", threads=one.threads)
    if one.limit == "grid":
        return said("the grid: {blocks} of {threads}", blocks=plural(round(one.blocks), "block"), threads=threads)
    if one.limit == "registers" and one.registers is not None:
        return said(
            "registers: {registers:,.0f} for each of {threads} of a block", registers=one.registers, threads=threads
        )
    if one.limit == "shared memory" and one.shared_bytes is not None:
        return said(
            "shared memory: {shared_bytes} for a block of {threads}",
            shared_bytes=quantity(one.shared_bytes, "bytes"), threads=threads,
        )  # fmt: skip
    return said("the block size: {threads}", threads=threads)


def _action(one: Occupying, told: Program) -> Action:
    if one.limit == "grid" and is_library(one.name, told):
        return more_blocks(one.name)
    if one.limit == "grid":
        return {"openmp": _TEAMS, "openacc": _GANGS}.get(told.offload, native.MORE_BLOCKS)
    return _ACTIONS[one.limit]


RULE = Rule(
    "KRN016",
    "few-threads",
    thresholds=(
        Threshold("max_occupancy", 0.125, "share", "Eight of 64 warps: fewer seldom hide the time of memory accesses."),
        Threshold("max_filled", 0.25, "share", "A grid is easily made larger; four times as many threads still fit."),
        Threshold("min_share", 0.05, "share", "Such kernels are rewritten by hand, which less than this isn't worth."),
    ),
    check=check,
)
