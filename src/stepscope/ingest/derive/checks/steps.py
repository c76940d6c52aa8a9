"""Health checks: missing and incomplete steps."""

from __future__ import annotations

from stepscope.ingest.derive.checks.derived import Derived
from stepscope.language import said
from stepscope.store.staging import Observation


def missing_steps(derived: Derived) -> Observation | None:
    """Gaps in step numbers."""
    numbers = {step.number for step in derived.steps.steps if step.number is not None}
    missing = max(numbers) - min(numbers) + 1 - len(numbers) if numbers else 0
    # Numbers in annotations may mean anything, and no recording holds millions of steps.
    if not missing or missing > 1_000_000:
        return None
    return Observation(
        "steps-missing", "warning", missing, "steps are missing between the first and the last one recorded",
        "numbers per step are those of the steps that are there",
    )  # fmt: skip


def repeated_steps(derived: Derived) -> Observation | None:
    """Steps whose number an earlier step has."""
    steps = derived.steps
    again = [
        name for step, name in zip(steps.steps, steps.called.tolist(), strict=True) if step.number not in (None, name)
    ]
    if not again:
        return None
    return Observation(
        "steps-renumbered", "info", len(again), "steps bear a number that another one has, or that is too high",
        said("column `step` counts on for them, from {again}", again=min(again)),
    )  # fmt: skip


def steps_not_recorded(derived: Derived) -> Observation | None:
    """Steps that were inferred, or could not be found."""
    source, count = derived.steps.source, len(derived.steps.steps)
    # Memory snapshots need no steps: they have no durations.
    looks = source == "whole" and derived.staging.may_have("segments")
    # Nor do totals and records of memory, whose single event is the time they were made.
    if source == "whole" and count and not looks and derived.overview.total > 1:
        return Observation(
            "steps-none", "info", 1, "no steps are marked",
            "numbers are about the time in which the device was in use" if derived.activities.event.size
            else "numbers are about the whole recording",
        )  # fmt: skip
    if source == "inferred":
        return Observation(
            "steps-inferred", "info", count, "steps were found from repeated work, since none are marked",
            "their bounds are approximate" if derived.activities.event.size
            else "their bounds are approximate, and alike layers of one pass may be taken for them",
        )  # fmt: skip
    return None


def partial_steps(derived: Derived) -> Observation | None:
    """Steps that are only partly recorded."""
    count = sum(step.partial for step in derived.steps.steps)
    if not count:
        return None
    return Observation(
        "steps-partial", "info", count, "steps are cut by the recording's start or end", "they are not typical"
    )
