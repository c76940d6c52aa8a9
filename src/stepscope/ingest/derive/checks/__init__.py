"""Health checks of a recording, one function each.

A check takes the derived tables and returns an observation, or None if all is well. Checks change nothing. Their codes
are explained in `docs/health.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepscope.ingest.derive.checks import contents, device, host, launches, steps
from stepscope.ingest.derive.checks.derived import Derived
from stepscope.store.staging import Observation

Check = Callable[[Derived], "Observation | None"]

CHECKS: Final[tuple[Check, ...]] = (
    contents.device_activity,
    contents.options,
    contents.device_names,
    device.zero_durations,
    device.overlaps,
    launches.warm_up,
    launches.launched_before,
    launches.kernels_without_launch,
    launches.queued_at_end,
    launches.launches_without_kernel,
    launches.starts_before_launch,
    launches.graphs,
    steps.missing_steps,
    steps.repeated_steps,
    steps.steps_not_recorded,
    steps.partial_steps,
    host.profiler_overhead,
    host.unclosed_frames,
)


def observe(derived: Derived) -> None:
    """Add a health line per finding of the checks, and one on what was read."""
    staging = derived.staging
    total = derived.overview.total
    staging.observe("events-read", "info", total, "events were read", "none")
    for check in CHECKS:
        observation = check(derived)
        if observation is not None:
            staging.health.append(observation)
