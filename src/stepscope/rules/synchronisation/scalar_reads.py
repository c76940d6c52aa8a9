"""The program reads numbers from the device during the step.

## What it finds
Operators that can't return before the device is done with all that came before them: `.item()`, `float(tensor)`, `if
tensor:`, `print(loss)`, and those whose result has a size that the host must know, such as `nonzero`, `masked_select`,
`unique` and indexing with a mask.

## Why it matters
PyTorch launches ahead of the device, which hides the host time of Python and operators. Each of these operators waits
until the device has no work left: the host loses its lead, and the device idles until it is refilled.

## How it decides
There must be at least `min_calls` such waits per step (`synchronisation.scalar_reads`). The price is what the step
would save on its dependency graph if the calls did not wait, and the operators and copies that only read numbers were
gone.

## What to try
Keep numbers on the device: add losses up there and read the sum once in many steps; in generation, look for the end
once in many tokens. Replace conditions by arithmetic
(`torch.where`, a mask that multiplies). Give the size where an operator takes it (`repeat_interleave(...,
output_size=n)`, `torch.nonzero_static`). Clip gradients and scale losses with the library's own functions, which decide
on the device.

## Known limits
Without recorded operators only waits right after a copy of at most 16 bytes to the host are recognised. One read at the
end of a step is often worth nothing, which the price shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration
from stepscope.model.events.change import Change, Scaled, Stretches
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import often, where
from stepscope.signals import Signals
from stepscope.signals.host.host import refill_ns
from stepscope.signals.host.reads import number_reads
from stepscope.signals.host.synchronisation import RESULT, SCALAR, calls, places, scalar_reads
from stepscope.signals.shared.job import infers, recorded_steps
from stepscope.signals.shared.program import generates

_LATER = Action(
    "Keep the number on the device and read it once in many steps",
    before="total += loss.item()",
    after="total += loss.detach()\nif step % 100 == 0:\n    print(total.item() / 100)",
    page="synchronisation",
)
_ENDED = Action(
    "Look for the end of generation once in many tokens",
    before="while not (tokens == eos).any(dim=1).all():\n    tokens = decode(tokens)",
    after="while not (tokens == eos).any(dim=1).all():\n    for _ in range(16):  # what follows eos is cut off later\n"
    "        tokens = decode(tokens)",
    page="synchronisation",
    needs=("pytorch",),
)
_TOGETHER = Action(
    "Read the results of several inputs at once, when the next ones are under way",
    before="for x in inputs:\n    scores.append(model(x).max().item())",
    after="found = [model(x).max() for x in inputs]  # stays on the device\nscores = torch.stack(found).tolist()",
    page="synchronisation",
    needs=("pytorch",),
)
_BRANCHLESS = Action(
    "Decide on the device instead of the host",
    before="if mask.any():\n    x = x[mask]",
    after="x = torch.where(mask, x, 0)  # or multiply by the mask: the shape stays the same",
    page="synchronisation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of such waits with the threshold."""
    rate = s(scalar_reads)
    if rate < limits["min_calls"]:
        return
    found = s(calls).of(SCALAR, RESULT)
    those = [place for place in s(places) if place.scope in (SCALAR, RESULT)]
    sized = found.of(RESULT).events.size > found.of(SCALAR).events.size
    later = (_ENDED if s.maybe(generates) else _TOGETHER) if s.maybe(infers) else _LATER
    blocked, gone = int(found.dur.sum()) // s(recorded_steps), s(number_reads)
    reading = (gone.total_ns + int(found.of(RESULT).dur.sum())) // s(recorded_steps)
    most = max(reading, blocked)
    yield Draft(
        title="Numbers are read from the device during the step",
        summary=said(
            "The host waits for a number from the device, {often}{where}: it is blocked for {blocked} of "
            "each step, and each time the device idles until new work is launched",
            often=often(rate), where=where(those), blocked=duration(blocked),
        )
        + (
            said(". The reads take {reading} with all that belongs to them.", reading=duration(reading))
            if reading > blocked
            else "."
        ),
        actions=(_BRANCHLESS, later) if sized else (later, _BRANCHLESS),
        change=Change(unblocked=found.events, host=(Scaled(gone.operators, 0.0),), device=(Scaled(gone.copies, 0.0),)),
        # What the calls that wait take themselves is no dispatch that others could see.
        explaining=Change(
            unblocked=found.events, time=(Stretches(gone.besides.starts, gone.besides.ends, 0.0),)
        ),
        most_ns=min(most, idle) if (idle := s.maybe(refill_ns)) is not None else most,
        events=found.longest(),
        rows=tuple(place.row for place in those[:3]),
        numbers={scalar_reads.name: rate, "min_calls": limits["min_calls"]},
    )  # fmt: skip


RULE = Rule(
    "SYN002",
    "scalar-reads",
    thresholds=(
        Threshold(
            "min_calls",
            0.5,
            "per step",
            "Every other step; a read once in many steps is what the rule recommends, and PyTorch's tuning guide too.",
        ),
    ),
    check=check,
    symptom_of=("SYN005", "HST006"),
    elsewhere=native.READING,
)
