"""Plan for the job that a recording is of, and say what its own layout takes beside the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.planning.api import plan
from stepscope.planning.machine.spelling import platform
from stepscope.planning.planned import Planned
from stepscope.planning.recording.batch import recorded_batch
from stepscope.planning.recording.calibrate import calibrated
from stepscope.planning.recording.job import recorded_job
from stepscope.planning.recording.remarks import given_by_recording, remarks
from stepscope.planning.request import usual_precision


def from_recording(
    trace: Trace,
    model: str,
    devices: int | None,
    device: str | None,
    top: int,
    machine: Mapping[str, float | None],
    shape: Mapping[str, bool | None],
    choices: Mapping[str, Any],
) -> Planned:
    """Plans for a recorded job, with what its machine reached.

    Args:
        trace: The recording.
        model: As of `api.plan`; recordings do not tell it.
        devices: Number of devices; None for as many as the job had.
        device: Their kind; None for the recorded one.
        top: Plans to give at most.
        machine: As of `api.plan`.
        shape: As of `api.plan`.
        choices: As of `api.plan`.

    Raises:
        UserError: The recording does not name its device, and `device` is not given.
    """
    job = recorded_job(trace)
    name = device or job.device
    if not name:
        raise UserError("the recording does not name its device", hint="give --device, as in --device 910b")
    try:
        where = platform(name)
    except UserError:
        if device:
            raise
        raise UserError(
            said("the recorded device ({name}) is not in the table of devices", name=name),
            hint="give --device, as in --device 910b",
        ) from None
    try:
        where = calibrated(where, trace)
    except UserError:
        where = replace(where, taken=("no rate of the machine; tabulated ones are used",))
    number = devices or job.devices
    batch = recorded_batch(trace)
    told = given_by_recording(batch, job, number, choices)
    if choices.get("precision") is None:
        # Beside the recorded layout, which is judged in the usual precision, others have to be in the same.
        told["precision"] = usual_precision(where)
    ask: dict[str, Any] = {"model": model, "devices": number, "device": where, "machine": machine, "shape": shape}
    found = plan(**ask, top=top, **{**choices, **told})
    return replace(found, remarks=remarks(found, job, batch, ask))
