"""``stepscope plan``: how to lay out a training job over devices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from stepscope.cli.planning import choices as c
from stepscope.language import said

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.planning.planned import Planned


def plan(
    model: c.Model = None,
    devices: c.Devices = None,
    device: c.DeviceName = None,
    tp: c.Tp = None,
    pp: c.Pp = None,
    dp: c.Dp = None,
    cp: c.Cp = None,
    ep: c.Ep = None,
    expert_tp: c.ExpertTp = None,
    virtual_stages: c.Virtual = None,
    schedule: c.ScheduleName = None,
    micro_batch: c.MicroBatch = None,
    global_batch: c.GlobalBatch = None,
    seq: c.Seq = None,
    recompute: c.RecomputeName = None,
    zero: c.Zero = None,
    shards: c.Shards = None,
    sequence_parallel: c.SequenceParallel = None,
    precision: c.PrecisionName = None,
    attention: c.AttentionName = None,
    flash: c.Flash = None,
    offload: c.OffloadName = None,
    optimizer: c.OptimizerName = None,
    framework: c.FrameworkName = None,
    compiled: c.Compiled = None,
    overlap: c.Overlap = None,
    tp_overlap: c.TpOverlap = None,
    ep_overlap: c.EpOverlap = None,
    grouped_dispatch: c.GroupedDispatch = None,
    fp8_weights: c.Fp8Weights = None,
    master_weights: c.MasterWeights = None,
    reduce_each: c.ReduceEach = None,
    narrow_reduction: c.NarrowReduction = None,
    fused_loss: c.FusedLoss = None,
    lora: c.LoraRank = None,
    tied: c.Tied = None,
    gated: c.Gated = None,
    dropout: c.Dropout = None,
    per_server: c.PerServer = None,
    link: c.Link = None,
    network: c.Network = None,
    memory: c.MemoryGib = None,
    calibrate: c.Calibrate = None,
    recorded: c.FromRecording = None,
    json: c.Json = None,
    settings: c.Settings = None,
    top: c.Top = 5,
) -> None:
    """Lay out the training of a model over devices: the best layouts, what they take, and settings for frameworks.

    With the sizes of groups and micro-batch given, judge that one layout.
    """
    from stepscope.model.errors import UserError
    from stepscope.planning.api import plan as planned_for
    from stepscope.planning.machine.spelling import platform

    given: dict[str, Any] = {
        "tp": tp, "pp": pp, "dp": dp, "cp": cp, "ep": ep, "virtual_stages": virtual_stages, "schedule": schedule,
        "micro_batch": micro_batch, "global_batch": global_batch, "seq": seq, "recompute": recompute, "zero": zero,
        "shards": shards, "sequence_parallel": sequence_parallel, "precision": precision,
        "attention": _attention(attention, flash), "offload": offload, "optimizer": optimizer, "framework": framework,
        "compiled": compiled, "overlap": overlap, "tp_overlap": tp_overlap, "ep_overlap": ep_overlap,
        "expert_tp": expert_tp, "grouped_dispatch": grouped_dispatch, "fp8_weights": fp8_weights,
        "master_weights": master_weights, "reduce_each": reduce_each,
        "narrow_reduction": narrow_reduction, "fused_loss": fused_loss, "lora": lora,
    }  # fmt: skip
    machine = {"per_server": per_server, "link": link, "network": network, "memory": memory}
    shape = {"tied": tied, "gated": gated, "dropout": dropout}
    if model is None:
        raise UserError("MODEL is missing", hint="give a config.json or a preset such as llama3-8b")
    if recorded is not None:
        from stepscope.planning.recording.planning import from_recording

        with _opened(recorded) as trace:
            found = from_recording(trace, model, devices, device, top, machine, shape, given)
    else:
        if devices is None or device is None:
            raise UserError("--devices and --device are missing", hint="give both, as in --devices 64 --device h100")
        where = platform(device)
        if calibrate is not None:
            from stepscope.planning.recording.calibrate import calibrated

            with _opened(calibrate) as trace:
                where = calibrated(where, trace)
        found = planned_for(model, devices=devices, device=where, top=top, machine=machine, shape=shape, **given)
    _write(found, json, settings)


def _opened(path: Path) -> Trace:
    from stepscope.cli.opening import open_input

    return open_input([path], cache=True, store=None)


def _attention(attention: str | None, flash: bool | None) -> str | None:
    if attention is None and flash is not None:
        return "flash" if flash else "unfused"
    return attention


def _write(found: Planned, json: Path | None, settings: str | None) -> None:
    from stepscope.cli.output import STDOUT, writing
    from stepscope.model.errors import UserError
    from stepscope.model.suggest import choose
    from stepscope.planning.settings import NAMES

    if settings is not None:
        text = found.settings.get(settings.lower())
        if text is None:
            if settings.lower() in NAMES:
                message = said("{settings} has no settings for the groups of the best plan", settings=settings)
                raise UserError(message, hint=choose("", found.settings))
            raise UserError(
                said("there are no settings for {settings!r}", settings=settings), hint=choose(settings, NAMES)
            )
        typer.echo(text)
    elif json is not None:
        from json import dumps

        from stepscope.planning.document import document

        text = dumps(document(found), indent=1) + "\n"
        if json == STDOUT:
            typer.echo(text, nl=False)
        else:
            with writing(json) as path:
                path.write_text(text, encoding="utf-8")
    else:
        from stepscope.reports import terminal
        from stepscope.reports.planned.outline import outline

        terminal.write_page(outline(found), sys.stdout)
    if not found.plans:
        raise UserError("nothing fits", hint=found.remedies[-1] if found.remedies else "use more devices")
