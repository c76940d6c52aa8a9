"""Memory that every step takes from the driver, and none gives back."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits
from stepscope.signals import Signals
from stepscope.signals.host.host import idle_ns
from stepscope.signals.memory.driver_memory import DriverCalls, driver_share

_ONCE: Final = Action(
    "Take the memory once before the loop, or through the framework's allocator, which keeps it",
    before="cudaMalloc(&workspace, bytes);  // in every call",
    after='workspace = torch.empty(bytes, dtype=torch.uint8, device="cuda")  # cached from the second call on',
    page="memory-fragmentation",
)


def keeps_taking(calls: DriverCalls, limits: Limits) -> bool:
    """Whether all steps after the first take memory for about as long, and none gives any back."""
    later = calls.steps[1:]
    if calls.free.any() or later.size < limits["min_steps"]:
        return False
    per_step = np.bincount(np.searchsorted(later, calls.steady.step), calls.steady.dur, later.size)
    return bool(per_step.min() > 0 and per_step.min() >= limits["min_even"] * per_step.mean())


def only_taken(s: Signals, calls: DriverCalls, grow: Action, limits: Limits) -> Draft:
    """Memory that every step takes, and none gives back."""
    found, later = calls.steady, calls.steps.size - 1
    return Draft(
        title="Device memory is taken from the driver in every step",
        summary=said(
            "{size:,.0f} calls per step take memory from the driver, and none gives any back; they take {per_step} "
            "({share}) of it on the host.",
            size=found.event.size / later, per_step=duration(int(found.dur.sum()) // later),
            share=percent(s(driver_share)),
        ),
        actions=(_ONCE, grow),
        change=Change(host=(Scaled(calls.event, 0.0),), unblocked=calls.event),
        most_ns=s.maybe(idle_ns),
        confidence=0.8,
        events=found.event[:20],
        rows=({"table": "memory_churn", "where": {"step": None}},),
        numbers={driver_share.name: s(driver_share), **limits},
        key="taken",
    )  # fmt: skip
