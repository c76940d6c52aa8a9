"""Run all health checks on the derived tables."""

from __future__ import annotations

from stepscope.ingest.derive.checks import CHECKS
from stepscope.ingest.derive.derived import Derived


def observe(derived: Derived) -> None:
    """Add a health line per finding of the checks, and one on what was read."""
    staging = derived.staging
    total = derived.overview.total
    staging.observe("events-read", "info", total, "an event was read" if total == 1 else "events were read", "none")
    for check in CHECKS:
        observation = check(derived)
        if observation is not None:
            staging.health.append(observation)
