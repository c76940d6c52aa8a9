"""The recorded layout in the plan's terms, beside the best plan, and what a change of it would bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    said = (
        [f"the recording is of {job.infers}, which trains nothing: this is a plan for training"] if job.infers else []
    )
    if not found.plans:
        return tuple(said)
    if not (job.groups or batch.micro_batch):
        reads = "its model reads images" if batch.images else "it shows neither groups of ranks nor a batch of tokens"
        return (*said, f"of the recording only devices and rates are used: {reads}")
    best, devices = found.plans[0], ask["devices"]
    shown = f"the recording shows {job.words or 'no named groups'} on {plural(devices, 'device')}"
    if batch.micro_batch:
        shown += f", and forward passes of {batch.micro_batch} x {batch.seq:,} tokens"
        shown += f", {batch.passes} in a step" if batch.passes and batch.passes > 1 else ""
    said.append(shown)
    if batch.recomputes is not None:
        said.append(f"the backward pass {'computes' if batch.recomputes else 'does not compute'} activations again")
    if job.groups.get("pp", 1) > 1 and best.layout.pp == 1:
        said.append("the job needs no pipeline: without stages the model fits, and no stage waits for another")
    layout = {name: job.groups.get(name, 1) for name in ("tp", "pp", "cp")}
    kept = {name: value for name, value in found.request.fixed.items() if name in ("seq", "global_batch")}
    fixed: dict[str, Any] = {**kept, **layout, "micro_batch": batch.micro_batch or 1, "zero": 1}
    if batch.recomputes is not None:
        fixed["recompute"] = "full" if batch.recomputes else "none"
    try:
        same = plan(**ask, **fixed).plans[0]
    except UserError:
        return tuple(said)
    times = same.step_ns / best.step_ns
    assumed = "" if batch.micro_batch else ", its micro-batch taken to be 1"
    said.append(f"that layout{assumed} would take {duration(same.step_ns)} per step, {times:.2f} times the best")
    return (*said, *_changed(same, fixed, batch, ask))


def _changed(same: Any, fixed: Mapping[str, Any], batch: RecordedBatch, ask: Mapping[str, Any]) -> Iterator[str]:
    """What one change of the recorded layout would bring, in the plan's terms."""
    if batch.micro_batch:
        larger = {"micro_batch": 2 * batch.micro_batch}
        yield from _tried(f"a micro-batch of {2 * batch.micro_batch}", same, {**fixed, **larger}, ask)
    if batch.recomputes:
        yield from _tried("recomputing attention alone", same, {**fixed, "recompute": "selective"}, ask)
        yield from _tried("no recomputation", same, {**fixed, "recompute": "none"}, ask)


def _tried(what: str, same: Any, fixed: Mapping[str, Any], ask: Mapping[str, Any]) -> Iterator[str]:
    try:
        other = plan(**ask, **fixed).plans[0]
    except UserError:
        return
    if other.memory.fits:
        yield f"{what} instead: {duration(other.step_ns)} per step, {other.step_ns / same.step_ns:.2f} times that"
    else:
        yield f"{what} instead does not fit into the device's memory"
