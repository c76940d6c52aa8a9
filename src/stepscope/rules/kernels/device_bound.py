"""Compute kernels take most of the step.

## What it finds
Steps in which the device computes most of the time, or one kernel takes a large part, and the kernels with most of it.

## Why it matters
Changes to the host, the loader or the launches shorten such a step little: only faster or fewer kernels do.

## How it decides
Compute kernels must run for `min_busy` of the typical step, or one of them for `min_one`, and classes of them that
are not known to be good must take `min_share` of it. Kernels with known FLOPs and bytes on a known device are good
from `good` of the roofline on: there is little to gain. The finding has no price, since what another kernel would
take is not in the recording; it stands below whatever costs three hundredths of the step or more. Where other rules say
what is wrong with these kernels and what that is worth, this finding is a symptom of theirs. Where the step would be
no shorter by their remedy, since the host takes as long, they are shown below this finding, which then stands where
half of what they take away would. Where the step graph gains less than half of what all kernels lose when each takes
half of its time (`dominance.shortens`), and the device waits for the host for 5 % of the step, the finding says that
the host takes as long.

## What to try
What the class of the foremost kernels calls for: tuned or narrower GEMMs, another implementation of attention or of
experts, fused pointwise operations; and the vendor's kernel profiler, at the launch that the finding names.

## Known limits
Kernels that run beside each other count each. Efficiency is not known of kernels in graphs, of Triton's and of others
whose operands are not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.kernel_names.parse import is_whole_graph
from stepscope.rules.finding import Action
from stepscope.rules.kernel_advice import DEQUANTISE, DEQUANTISING, WORDS, advice, operands
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.host import late_share
from stepscope.signals.kernels.dominance import Dominance, compute, decoding, shortens
from stepscope.signals.kernels.kernel_times import Alike
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.program import program

#: Kernels and classes that a summary names.
_NAMED: Final = 3
#: Where so much of what is computed is graphs without their kernels, nothing is known of kernels.
_OPAQUE: Final = 0.5
#: From so many on, parts of one are not worth a digit.
_MANY: Final = 10
#: Kernels that unpack weights are worth a remedy of their own from this part of what is computed on.
_UNPACKED: Final = 0.2
#: Shares below this are not worth a word.
_MENTIONED: Final = 0.05
#: Where less of what kernels lose is gained by the step, they do not decide its length alone.
_SHORTENS: Final = 0.5
#: Then the device waits for the host now and then; where it hardly does, what the host seems to do may be waiting.
_LATE: Final = 0.05


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of kernels that might be faster with the step."""
    found = s(compute)
    if found.busy < limits["min_busy"] and all(one.share < limits["min_one"] for one in found.kernels):
        return
    if sum(one.share for one in found.kernels if is_whole_graph(one.name)) >= _OPAQUE * found.busy:
        return
    good = {id(one) for one in found.kernels if one.efficiency is not None and one.efficiency >= limits["good"]}
    roles = {role: share - sum(k.share for k in found.kernels if k.role == role and id(k) in good)
             for role, share in found.roles}  # fmt: skip
    open_ = min(sum(roles.values()), found.busy)
    if open_ < limits["min_share"]:
        return
    foremost = max(roles, key=lambda role: roles[role])
    named = [one for one in found.kernels if id(one) not in good and one.share >= _MENTIONED][:_NAMED]
    names = tuple(one.name for one in named or found.kernels if one.role == foremost)
    yield Draft(
        title="Compute kernels take most of the step",
        summary=said(
            "Compute kernels run for {busy} of the step: {roles}. {listed}",
            busy=percent(found.busy), roles=_roles(found), listed=_listed(named, s(recorded_steps)),
        )
        + _what_helps(s),
        actions=(*_unpacked(found), *advice(foremost, names, s(program), s.maybe(decoding) is True)),
        taken_ns=round(open_ * found.length_ns) // s(recorded_steps),
        confidence=0.8,
        events=_foremost(found, named, foremost).events[:20],
        rows=tuple({"table": "kernels", "where": {"name": name}} for name in dict.fromkeys(one.name for one in named)),
        numbers={f"{compute.name}.busy": round(found.busy, 4), **limits},
    )  # fmt: skip


def _unpacked(found: Dominance) -> tuple[Action, ...]:
    """What to do where much of it only unpacks quantised weights."""
    share = sum(one.share for one in found.kernels if DEQUANTISING.search(one.name))
    return (DEQUANTISE,) if share >= _UNPACKED * found.busy else ()


def _foremost(found: Dominance, named: list[Alike], role: str) -> Alike:
    """The kernels to look into: the first that is named, else the first of the foremost class."""
    return next(iter(named or [one for one in found.kernels if one.role == role] or found.kernels))


def _what_helps(s: Signals) -> str:
    """Whether faster kernels shorten the step, or something else takes as long."""
    share, late = s.maybe(shortens), s.maybe(late_share)
    if share is not None and share < _SHORTENS and (late or 0.0) >= _LATE:
        return said(
            "Faster kernels alone would shorten the step little, since other work takes nearly as long: that of the "
            "host must shrink as well."
        )
    return said("Most of it can be saved by faster or fewer kernels only.")


def _roles(found: Dominance) -> str:
    shown = [(role, share) for role, share in found.roles if share >= _MENTIONED][:_NAMED] or list(found.roles[:1])
    return listing(said("{role} {share}", role=WORDS[role], share=percent(share, 0)) for role, share in shown)


def _listed(named: list[Alike], steps: int) -> str:
    if not named:
        return ""
    return said("The most time goes to {named}. ", named=listing((_told(one, steps) for one in named), "; "))


def _told(one: Alike, steps: int) -> str:
    rate = f", {quantity(one.rate, 'FLOP/s')}" if one.rate else ""
    part = (
        said(", {efficiency} of what the device allows", efficiency=percent(one.efficiency, 0))
        if one.efficiency is not None
        else ""
    )
    number = one.events.size / steps
    often = f"{number:,.{0 if number.is_integer() or number >= _MANY else 1}f}"
    times = said("{often} times ", often=often) if often not in ("1", "1.0") else ""
    taken = said(
        "{share} of the step: {times}{mean}", share=percent(one.share, 0), times=times, mean=duration(one.mean_ns)
    )
    return said(
        "{kernel}{operands} ({taken}{rate}{part})",
        kernel=one.short, operands=operands(one.shapes), taken=taken, rate=rate, part=part,
    )  # fmt: skip


RULE = Rule(
    "KRN015",
    "device-bound",
    thresholds=(
        Threshold("min_busy", 0.7, "share", "Below that other things take enough of the step to come first."),
        Threshold("min_one", 0.4, "share", "Of a kernel that takes as much, a small gain shows in the step."),
        Threshold("min_share", 0.3, "share", "Tuning kernels gains a tenth of their time: of less, next to nothing."),
        Threshold("good", 0.6, "share", "TraceLens calls an operator efficient from 60 % of its roofline on."),
    ),
    check=check,
    symptom_of=(
        "KRN001", "KRN002", "KRN003", "KRN004", "KRN005", "KRN006", "KRN007", "KRN008", "KRN009", "KRN010", "KRN011",
        "KRN012", "KRN013", "KRN016", "KRN017", "KRN018", "KRN019",
        "KRN020", "KRN021", "KRN022", "KRN024", "ASC001", "ASC007",
    ),
)  # fmt: skip
