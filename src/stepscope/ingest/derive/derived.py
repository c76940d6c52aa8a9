"""What has been derived of a recording: what the checks look at."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.ingest.derive.activities import Activities
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.steps.found import Steps
from stepscope.store.staging import Staging


@dataclass(frozen=True, slots=True)
class Derived:
    """A recording once everything but its health is known.

    Attributes:
        staging: What was read, with the finished tables that have few rows.
        overview: How many events there are of what.
        activities: The device activities.
        launches: How many launches there are.
        lost: How many of them have no device work.
        steps: The steps.
    """

    staging: Staging
    overview: Overview
    activities: Activities
    launches: int
    lost: int
    steps: Steps
