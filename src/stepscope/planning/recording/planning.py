"""Plan for the job that a recording is of, and say what its own layout takes beside the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stepscope.model.amounts import duration
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.planning.api import plan
from stepscope.planning.machine.spelling import platform
from stepscope.planning.planned import Planned
from stepscope.planning.recording.calibrate import calibrated
from stepscope.planning.recording.job import recorded_job


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
    where = platform(name)
    try:
        where = calibrated(where, trace)
    except UserError as error:
        where = replace(where, taken=(error.message,))
    number = devices or job.devices
    found = plan(model, devices=number, device=where, top=top, machine=machine, shape=shape, **choices)
    return replace(found, remarks=_remarks(found, job.groups, job.words, number, model, where, machine, shape))


def _remarks(
    found: Planned,
    groups: Mapping[str, int],
    words: str,
    devices: int,
    model: str,
    where: Any,
    machine: Mapping[str, float | None],
    shape: Mapping[str, bool | None],
) -> tuple[str, ...]:
    """What the recorded layout takes in the plan's terms, beside the best plan."""
    if not groups or not found.plans:
        return ()
    best = found.plans[0]
    said = [f"the recording shows {words} on {devices} devices"]
    if groups.get("pp", 1) > 1 and best.layout.pp == 1:
        said.append("the job needs no pipeline: without stages the model fits, and no stage waits for another")
    fixed = {
        "tp": 1,
        "pp": 1,
        "micro_batch": 1,
        **{name: groups[name] for name in ("tp", "pp", "cp") if name in groups},
    }
    kept = {name: best_value for name, best_value in found.request.fixed.items() if name in ("seq", "global_batch")}
    try:
        same = plan(model, devices=devices, device=where, machine=machine, shape=shape, zero=1, **{**kept, **fixed})
    except UserError:
        return tuple(said)
    times = same.plans[0].step_ns / best.step_ns
    step = duration(same.plans[0].step_ns)
    said.append(f"that layout with micro-batch 1 would take {step} per step, {times:.2f} times the best")
    return tuple(said)
