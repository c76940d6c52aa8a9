"""What is wrong with a recording or missing from it, as far as the tables themselves show it."""

from __future__ import annotations

from stepscope.ingest.derive.checks import CHECKS
from stepscope.ingest.derive.derived import Derived


def observe(derived: Derived) -> None:
    """Add a line of health for all that the checks find, and one for what was read."""
    staging = derived.staging
    total = derived.overview.total
    staging.observe("events-read", "info", total, "an event was read" if total == 1 else "events were read", "none")
    for check in CHECKS:
        observation = check(derived)
        if observation is not None:
            staging.health.append(observation)
