"""Passes of a server over its batches, and what they take by role of their kernels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Final

from stepscope.signals.signal import Signals, signal

#: A row of table `serving`.
Row = dict[str, Any]
#: Gaps of so many times the one in the middle have another cause.
_USUAL: Final = 5


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch in which requests in decode waited for the prompts of others.

    Attributes:
        ns: How long each of them waited, beyond what a pass of decode takes.
        tokens: Tokens of prompts that were read.
        waiting: Requests that waited, at least.
        ts: Start on the host of the first pass that read them.
        mixed: Whether one pass did both.
    """

    ns: int
    tokens: int
    waiting: int
    ts: int
    mixed: bool


@signal()
def passes(s: Signals) -> list[Row]:
    """Rows of table `serving`: the passes of a server, in time order; empty for any other program.

    A gap is null where the pass before it is none of the typical steps: what the device did in that one is no idling.
    """
    rows = s.table("serving").records()
    if not rows or s.whole is s:
        return rows
    kept = {row["ts"] for row in rows}
    every = s.whole.table("serving").records()
    gaps = {row["ts"]: row["gap_ns"] for last, row in pairwise(every) if last["ts"] in kept}
    return [{**row, "gap_ns": gaps.get(row["ts"])} for row in rows]


@signal()
def decoding(s: Signals) -> list[Row]:
    """Passes that make a token for each request and read no prompts, with work on the device."""
    return [row for row in s(passes) if row["phase"] == "decode" and row["device_ns"]]


@signal()
def role_ns(s: Signals) -> dict[tuple[str, str], int]:
    """Device time of passes by phase and role, idle among them, ns."""
    rows = s.table("serving_roles").records()
    return {(row["phase"], row["role"]): row["total_ns"] for row in rows}


@signal("ns")
def decode_ns(s: Signals) -> float:
    """Device time of the pass in the middle of those that only decode, of all that was recorded; 0 without any."""
    return float(median([row["device_ns"] for row in s.whole(decoding)] or [0]))


@signal()
def stalls(s: Signals) -> list[Stall]:
    """Stretches in which requests in decode certainly waited for prompts, in time order, of all that was recorded.

    Between two passes with answers, passes that only read prompts keep those waiting that the later pass answers beyond
    the new ones. A pass that does both keeps all that it answers waiting for what it takes longer than one of decode.
    """
    found: list[Stall] = []
    usual = s(decode_ns)
    before: Row | None = None
    between: list[Row] = []
    for row in s.whole(passes):
        if row["device_ns"] is None or row["prompts"] is None or row["answers"] is None:
            before, between = None, []
        elif not row["answers"]:
            between.append(row)
        else:
            new = sum(one["prompts"] for one in between)
            if before is not None and between and row["answers"] > new:
                tokens = sum(one["prompt_tokens"] or 0 for one in between)
                waited = sum(one["device_ns"] for one in between)
                found.append(Stall(waited, tokens, row["answers"] - new, between[0]["ts"], False))
            if row["prompts"] and usual and row["device_ns"] > usual:
                longer = round(row["device_ns"] - usual)
                found.append(Stall(longer, row["prompt_tokens"] or 0, row["answers"], row["ts"], True))
            before, between = row, []
    return found


@signal()
def pending_gaps(s: Signals) -> list[Row]:
    """Passes before which the device did nothing although requests certainly waited: those of the pass before go on.

    Gaps of several times the usual one are left out: the process paused, or requests came from another server.
    """
    rows = s(passes)
    found = [
        row for last, row in pairwise(rows)
        if row["gap_ns"] and row["answers"] and row["answers"] <= last["requests"]
    ]  # fmt: skip
    most = _USUAL * median([row["gap_ns"] for row in found] or [0])
    return [row for row in found if row["gap_ns"] <= most]


@signal()
def staged(s: Signals) -> bool:
    """Whether single ranks send to and receive from each other, as stages of a pipeline do."""
    found = s.trace.scalar("SELECT count(*) FROM collectives WHERE collective IN ('send', 'recv', 'send_recv')")
    return bool(found)


@signal()
def replayed(s: Signals) -> list[Row]:
    """Passes that only decode and whose kernels are replayed from graphs."""
    return [row for row in s(decoding) if row["execution"] in ("graph", "piecewise")]


@signal()
def launched(s: Signals) -> list[Row]:
    """Passes that only decode and whose kernels are launched one by one."""
    return [row for row in s(decoding) if row["execution"] == "eager"]


@signal()
def expert_ns(s: Signals) -> int:
    """Device time of experts per pass, ns; 0 where there are none."""
    return _per_pass(s, ("moe",))


@signal()
def dense_ns(s: Signals) -> int:
    """Device time of attention and of GEMMs other than experts' per pass, ns."""
    return _per_pass(s, ("attention", "gemm"))


@signal()
def mix(s: Signals) -> dict[str, float]:
    """Part of the passes with device work that each phase has."""
    phases = [row["phase"] for row in s(passes) if row["device_ns"]]
    return {phase: phases.count(phase) / len(phases) for phase in dict.fromkeys(phases)}


@signal("ns")
def pass_ns(s: Signals) -> int:
    """Mean device time of a pass with all that it takes, ns; 0 without passes."""
    times = [row["device_ns"] for row in s(passes) if row["device_ns"]]
    return sum(times) // len(times) if times else 0


def _per_pass(s: Signals, roles: tuple[str, ...]) -> int:
    number = sum(1 for row in s(passes) if row["device_ns"])
    total = sum(ns for (_, role), ns in s(role_ns).items() if role in roles)
    return total // number if number else 0
