"""A recording's derived tables, as input of the health checks, and shares of them in words."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.ingest.derive.activities import DerivedWork
from stepscope.ingest.derive.host.launches import DerivedLaunches
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.steps.found import FoundSteps
from stepscope.store.staging import Staging


@dataclass(frozen=True, slots=True)
class Derived:
    """A recording with everything derived but its health.

    Attributes:
        staging: The staged facts, with the finished small tables.
        overview: Counts of events by track and category.
        activities: The device activities.
        launches: The launches in numbers.
        steps: The steps.
    """

    staging: Staging
    overview: Overview
    activities: DerivedWork
    launches: DerivedLaunches
    steps: FoundSteps


def share(part: int, whole: int) -> str:
    """A percentage, such as `12 %` or `under 1 %`."""
    percent = round(100 * part / whole) if whole else 0
    return f"{percent} %" if percent or not part else "under 1 %"
