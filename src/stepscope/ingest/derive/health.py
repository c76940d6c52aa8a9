"""What is wrong with a recording or missing from it, as far as the tables themselves show it."""

from __future__ import annotations

from stepscope.ingest.derive.checks import CHECKS
from stepscope.store.staging import Staging


def observe(staging: Staging) -> None:
    """Add a line of health for all that the checks find, and one for what was read."""
    [events] = staging.one("SELECT count(*) FROM raw_events")
    staging.observe("events-read", "info", events, "events were read", "none")
    for check in CHECKS:
        observation = check(staging)
        if observation is not None:
            staging.health.append(observation)
