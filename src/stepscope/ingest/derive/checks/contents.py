"""Health checks: which kinds of events were recorded."""

from __future__ import annotations

from typing import Final

from stepscope.ingest.derive.checks.derived import Derived
from stepscope.language import listing, pattern, said
from stepscope.store.staging import Observation

#: Profiler options that record operators' inputs, stacks and allocations.
_SETTINGS: Final = {"shapes": "record_shapes=True", "stacks": "with_stack=True", "memory": "profile_memory=True"}
_ABSENT: Final = {
    "shapes": pattern("no shapes"), "stacks": pattern("no call stacks"), "memory": pattern("no memory"),
}  # fmt: skip

_WITH_TEXT: Final = "EXISTS (FROM input_calls SEMI JOIN (FROM input_texts WHERE {} IS NOT NULL) USING (texts))"
_TEXTS_SQL: Final = f"SELECT {_WITH_TEXT.format('shapes')}, {_WITH_TEXT.format('stack')}"
_MEMORY_SQL: Final = "SELECT EXISTS (FROM raw_memory) OR EXISTS (FROM allocator_events)"
_NAMED_SQL: Final = "SELECT device FROM devices WHERE coalesce(name, '') <> ''"
#: Memory snapshots, and recordings that hold their profiler's sums only, which another line reports.
_OTHERWISE_SQL: Final = """
SELECT EXISTS (FROM segments) OR EXISTS (FROM allocator_events) OR EXISTS (FROM recorded WHERE source = 'steps')
"""
#: Observations by which readers say that a recording is of no job or no device, or holds memory or totals alone.
_SAID: Final = frozenset(("not-a-profile", "processor-alone", "memory-only", "totals-only"))


def device_activity(derived: Derived) -> Observation | None:
    """No device work recorded; with launches recorded, the device's records were lost."""
    launched = derived.overview.has("launch")
    if any(line.code in _SAID for line in derived.staging.health):
        return None
    if derived.activities.event.size or (not launched and derived.staging.one(_OTHERWISE_SQL) == (True,)):
        return None
    if launched:
        return Observation(
            "device-lost", "error", 1, "calls that launch device work were recorded, but none of the work",
            "there is no device time; check that no other profiler holds the device, and that its tracer loads",
        )  # fmt: skip
    return Observation(
        "no-device", "warning", 1, "no device activity was recorded",
        "there is no device time (a job on the CPU alone has none)",
    )  # fmt: skip


def options(derived: Derived) -> Observation | None:
    """Profiler options that were off, in one line, since most recordings lack something."""
    if not derived.overview.has("op"):
        return None
    staging = derived.staging
    shapes, stacks = staging.one(_TEXTS_SQL) if staging.may_have("input_texts") else (False, False)
    memory = staging.may_have("raw_memory", "allocator_events") and staging.one(_MEMORY_SQL)[0]
    stacks = stacks or derived.overview.has("python")
    absent = [name for name, there in zip(_SETTINGS, (shapes, stacks, memory), strict=True) if not there]
    if not absent:
        return None
    listed = listing((_ABSENT[name] for name in absent), ", ", " and ")
    wanted = ", ".join(_SETTINGS[name] for name in absent)
    return Observation(
        "options-off", "info", len(absent), said("{listed}: options of the profiler that were off", listed=listed),
        said("what needs them is not computed; record with {wanted}", wanted=wanted),
    )  # fmt: skip


def device_names(derived: Derived) -> Observation | None:
    """Used devices that the recording does not describe."""
    used = set(derived.activities.device.unique().drop_null().to_pylist())
    rows = derived.staging.connection.execute(_NAMED_SQL).fetchall() if used else []
    unknown = len(used - {device for (device,) in rows})
    if not unknown:
        return None
    return Observation(
        "device-unknown", "info", unknown, "devices are used that the recording does not name",
        "their peak rates are unknown, so that nothing is compared with them",
    )  # fmt: skip
