"""Steps that are not there, or not whole."""

from __future__ import annotations

from stepscope.store.staging import Observation, Staging


def missing_steps(staging: Staging) -> Observation | None:
    """Gaps in the numbers of steps."""
    [missing] = staging.one(
        "SELECT max(number) - min(number) + 1 - count(DISTINCT number) FROM steps WHERE number IS NOT NULL"
    )
    # Numbers of annotations may mean anything; steps are not recorded by the million.
    if not missing or missing > 1_000_000:
        return None
    return Observation(
        "steps-missing", "warning", missing, "steps are missing between the first and the last one recorded",
        "numbers per step are those of the steps that are there",
    )  # fmt: skip


def steps_not_recorded(staging: Staging) -> Observation | None:
    """Steps that had to be found, or could not be."""
    source, count = staging.one("SELECT any_value(source), count(*) FROM steps")
    if source == "whole":
        return Observation(
            "steps-none", "info", 1, "no steps are marked",
            "the whole recording counts as one step; call prof.step() after each iteration",
        )  # fmt: skip
    if source == "inferred":
        return Observation(
            "steps-inferred", "info", count, "steps were found from repeated work, since none are marked",
            "their bounds are approximate; call prof.step() after each iteration",
        )  # fmt: skip
    return None


def partial_steps(staging: Staging) -> Observation | None:
    """Steps that the recording does not hold from begin to end."""
    [count] = staging.one("SELECT count(*) FILTER (WHERE partial) FROM steps")
    if not count:
        return None
    return Observation(
        "steps-partial", "info", count, "steps are cut by the recording's begin or end", "they are not typical"
    )
