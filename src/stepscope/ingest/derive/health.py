"""What is missing from a recording, as far as the tables themselves show it."""

from __future__ import annotations

from stepscope.store.staging import Staging


def observe(staging: Staging) -> None:
    """Add lines of health on what the recording lacks."""
    kernels, unlinked = staging.one(
        "SELECT count(*), count(*) FILTER (WHERE launch IS NULL AND kind <> 'sync') FROM kernels"
    )
    [memory_only] = staging.one(
        "SELECT (EXISTS (FROM segments) OR EXISTS (FROM allocator_events)) AND NOT EXISTS (FROM raw_kernels)"
    )
    if not kernels and not memory_only:
        staging.observe("no-device", "warning", 1, "no device activity was recorded",
                        "there is no device time; record with ProfilerActivity.CUDA")  # fmt: skip
    staging.observe("kernels-without-launch", "warning", unlinked, "device activities have no launch on the host",
                    "their operator is unknown")  # fmt: skip
