"""The recorded layout in the plan's terms, beside the best plan, and what a change of it would bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stepscope.language import said
from stepscope.model.amounts import duration, plural
from stepscope.model.errors import UserError
from stepscope.planning.api import plan
from stepscope.planning.planned import Planned
from stepscope.planning.recording.batch import RecordedBatch
from stepscope.planning.recording.job import RecordedJob


def given_by_recording(
    batch: RecordedBatch, job: RecordedJob, devices: int, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Sequence and global batch as recorded, where they are not asked for."""
    cp = asked.get("cp") or job.groups.get("cp", 1)
    found: dict[str, Any] = {}
    if batch.seq and asked.get("seq") is None:
        found["seq"] = batch.seq * cp
    if batch.micro_batch and batch.passes and asked.get("global_batch") is None:
        sharing = cp * job.groups.get("tp", 1) * job.groups.get("pp", 1)
        # A group of a size that does not divide the devices is none of this job's.
        if devices % sharing == 0:
            found["global_batch"] = batch.micro_batch * batch.passes * devices // sharing
    return found


def remarks(found: Planned, job: RecordedJob, batch: RecordedBatch, ask: Mapping[str, Any]) -> tuple[str, ...]:
    """What the recorded layout takes beside the best plan, and what changes of it would bring.

    Args:
        found: The plans.
        job: The recorded job.
        batch: Its batch.
        ask: Arguments of `api.plan` other than choices, by keyword.
    """
    lines = (
        [said("the recording is of {infers}, which trains nothing: this is a plan for training", infers=job.infers)]
        if job.infers
        else []
    )
    if not found.plans:
        return tuple(lines)
    if not (job.groups or batch.micro_batch):
        reads = said("it shows neither groups of ranks nor a batch of tokens")
        if batch.images:
            reads = said("its model reads images")
        return (*lines, said("of the recording only devices and rates are used: {reads}", reads=reads))
    best, devices = found.plans[0], ask["devices"]
    shown = said(
        "the recording shows {words} on {devices}",
        words=job.words or said("no named groups"),
        devices=plural(devices, "device"),
    )
    if batch.micro_batch:
        passes = said("forward passes of {micro_batch} x {seq:,} tokens", micro_batch=batch.micro_batch, seq=batch.seq)
        shown = said("{shown}, and {passes}", shown=shown, passes=passes)
        if batch.passes and batch.passes > 1:
            shown = said("{shown}, {number} in a step", shown=shown, number=batch.passes)
    lines.append(shown)
    if batch.recomputes is not None:
        again = said("the backward pass computes activations again")
        lines.append(again if batch.recomputes else said("the backward pass does not compute activations again"))
    if job.groups.get("pp", 1) > 1 and best.layout.pp == 1:
        lines.append(said("the job needs no pipeline: without stages the model fits, and no stage waits for another"))
    layout = {name: job.groups.get(name, 1) for name in ("tp", "pp", "cp")}
    kept = {name: value for name, value in found.request.fixed.items() if name in ("seq", "global_batch")}
    fixed: dict[str, Any] = {**kept, **layout, "micro_batch": batch.micro_batch or 1, "zero": 1}
    if batch.recomputes is not None:
        fixed["recompute"] = "full" if batch.recomputes else "none"
    try:
        same = plan(**ask, **fixed).plans[0]
    except UserError:
        return tuple(lines)
    times = same.step_ns / best.step_ns
    that = said("that layout")
    if not batch.micro_batch:
        that = said("that layout, its micro-batch taken to be 1,")
    lines.append(
        said(
            "{layout} would take {step} per step, {times:.2f} times the best",
            layout=that,
            step=duration(same.step_ns),
            times=times,
        )
    )
    return (*lines, *_changed(same, fixed, batch, ask))


def _changed(same: Any, fixed: Mapping[str, Any], batch: RecordedBatch, ask: Mapping[str, Any]) -> Iterator[str]:
    """What one change of the recorded layout would bring, in the plan's terms."""
    if batch.micro_batch:
        micro = 2 * batch.micro_batch
        larger = {"micro_batch": micro, "global_batch": max(same.layout.global_batch, micro * same.layout.dp)}
        yield from _tried(said("a micro-batch of {value}", value=micro), same, {**fixed, **larger}, ask)
    if batch.recomputes:
        yield from _tried(said("recomputing attention alone"), same, {**fixed, "recompute": "selective"}, ask)
        yield from _tried(said("no recomputation"), same, {**fixed, "recompute": "none"}, ask)


def _tried(what: str, same: Any, fixed: Mapping[str, Any], ask: Mapping[str, Any]) -> Iterator[str]:
    try:
        other = plan(**ask, **fixed).plans[0]
    except UserError:
        return
    per_token = other.tokens != same.tokens
    times = other.step_ns / same.step_ns * (same.tokens / other.tokens)
    words = {"what": what, "step": duration(other.step_ns), "times": times}
    if not other.memory.fits:
        yield said("{what} instead does not fit into the device's memory", what=what)
    elif per_token:
        yield said("{what} instead: {step} per step, {times:.2f} times that per token", **words)
    else:
        yield said("{what} instead: {step} per step, {times:.2f} times that", **words)
