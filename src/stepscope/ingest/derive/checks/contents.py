"""What was recorded at all."""

from __future__ import annotations

from typing import Final

from stepscope.store.staging import Observation, Staging

#: What an operator's inputs, stacks and allocations need to be recorded, by what they are called.
_SETTINGS = {"shapes": "record_shapes=True", "call stacks": "with_stack=True", "memory": "profile_memory=True"}

_WITH_TEXT: Final = "EXISTS (FROM input_calls SEMI JOIN (FROM input_texts WHERE {} IS NOT NULL) USING (texts))"
_RECORDED_SQL: Final = f"""
SELECT EXISTS (FROM raw_events WHERE category = 'op'), {_WITH_TEXT.format("shapes")},
    {_WITH_TEXT.format("stack")} OR EXISTS (FROM raw_events WHERE category = 'python'),
    EXISTS (FROM raw_memory) OR EXISTS (FROM allocator_events)
"""


def device_activity(staging: Staging) -> Observation | None:
    """Whether a device is in the recording; launches without any device work show that its records were lost."""
    kernels, launched, other = staging.one(
        "SELECT EXISTS (FROM kernels), EXISTS (FROM raw_events WHERE category = 'launch'), "
        "EXISTS (FROM segments) OR EXISTS (FROM allocator_events)"
    )
    if kernels or (other and not launched):
        return None
    if launched:
        return Observation(
            "device-lost", "error", 1, "calls that launch device work were recorded, but none of the work",
            "there is no device time; check that no other profiler holds the device, and that its tracer loads",
        )  # fmt: skip
    return Observation(
        "no-device", "warning", 1, "no device activity was recorded",
        "there is no device time; record with ProfilerActivity.CUDA",
    )  # fmt: skip


def options(staging: Staging) -> Observation | None:
    """Which options of the profiler were off; told in one line, as most recordings lack something."""
    ops, shapes, stacks, memory = staging.one(_RECORDED_SQL)
    absent = [name for name, there in zip(_SETTINGS, (shapes, stacks, memory), strict=True) if not there]
    if not ops or not absent:
        return None
    listed = " and no ".join([", no ".join(absent[:-1]), absent[-1]] if len(absent) > 1 else absent)
    wanted = ", ".join(_SETTINGS[name] for name in absent)
    return Observation(
        "options-off", "info", len(absent), f"profiler options are off: no {listed}",
        f"what needs them is not computed; record with {wanted}",
    )  # fmt: skip


def device_names(staging: Staging) -> Observation | None:
    """Devices that are used, but not described."""
    [unknown] = staging.one(
        "SELECT count(*) FROM (SELECT DISTINCT device FROM kernels WHERE device IS NOT NULL) "
        "ANTI JOIN (SELECT device FROM devices WHERE coalesce(name, '') <> '') USING (device)"
    )
    if not unknown:
        return None
    return Observation(
        "device-unknown", "info", unknown, "devices are used that the recording does not name",
        "their peak rates are unknown, so that nothing is compared with them",
    )  # fmt: skip
