"""Job parameters given as text, and the check that a job makes sense."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.simulate.devices import DEVICES
from stepscope.simulate.job import SimJob

_CHOICES: dict[str, tuple[object, ...]] = {
    "model": ("transformer", "convnet", "mlp"),
    "dtype": ("bf16", "fp16", "fp32"),
    "attention": ("flash", "math"),
    "optimizer": ("adamw", "sgd"),
    "optimizer_impl": ("fused", "foreach", "loop"),
    "device": tuple(DEVICES),
    "parallel": ("ddp", "fsdp"),
    "profiler_level": (-1, 0, 1, 2),
    "cann": ("8.0", "8.5"),
}
_POSITIVE = frozenset(
    (
        "layers", "hidden", "heads", "sequence", "sequence_cycle", "image", "vocab", "batch",
        "elementwise_split", "gelu_split", "compute_scale", "kernel_floor_ns", "queue_depth", "prefetch",
        "pinned_bandwidth", "pageable_bandwidth", "ranks", "stages", "virtual_stages",
        "micro_batches", "ranks_per_host", "bucket_bytes", "link_bandwidth",
        "network_bandwidth", "slow_factor", "slow_host_factor", "slow_loader_factor", "slow_link_factor", "busy_factor",
        "steps", "op_ns",
        "launch_ns", "clock_tick_ns",
    )
)  # fmt: skip
_SIGNED = (
    "clock_offset_ns", "device_clock_ns", "device_clock_ppm", "slow_rank", "slow_host_rank", "slow_loader_rank",
    "slow_link_rank", "slow_link_peer", "busy_rank", "sums_from_rank", "profiler_level", "seed", "noise_seed",
)  # fmt: skip
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def with_settings(job: SimJob, settings: Iterable[str]) -> SimJob:
    """The job with parameters changed, each given as ``KEY=VALUE``.

    Raises:
        UserError: a key is unknown or its value has the wrong type.
    """
    kinds = {field.name: type(getattr(job, field.name)) for field in fields(job)}
    changes: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in kinds:
            message = said("{setting!r} sets no parameter of a job", setting=setting)
            raise UserError(message, hint=said("KEY is one of {names}", names=", ".join(kinds)))
        changes[key] = _parsed(key, value, kinds[key])
    return replace(job, **changes)  # type: ignore[arg-type]


def _parsed(key: str, value: str, kind: type) -> object:
    try:
        if kind is bool:
            if value.lower() not in _TRUE + _FALSE:
                raise ValueError(value)
            return value.lower() in _TRUE
        return int(value.replace("_", "")) if kind is int else kind(value)
    except ValueError:
        message = said("{key} can't be {value!r}", key=key, value=value)
        raise UserError(message, hint=said("give a value of type {kind}", kind=kind.__name__)) from None


def check(job: SimJob) -> None:
    """Refuse a job that cannot be simulated.

    Raises:
        UserError: a parameter is outside its range.
    """
    for key, choices in _CHOICES.items():
        if getattr(job, key) not in choices:
            message = said("{key} can't be {value!r}", key=key, value=getattr(job, key))
            raise UserError(message, hint=said("choose from {names}", names=", ".join(map(str, choices))))
    if job.graph and job.parallel == "fsdp":
        raise UserError("a graph can't hold the collectives of fsdp", hint="set graph or parallel, not both")
    if job.start_edge and DEVICES[job.device].vendor == "huawei":
        raise UserError(
            "a folder of Ascend holds no work without its launch", hint="set start_edge or device, not both"
        )
    if job.stages > 1 or job.virtual_stages > 1:
        _check_pipeline(job)
    if job.experts:
        _check_experts(job)
    if job.inner_ranks and (job.ranks % job.inner_ranks or job.stages > 1 or job.experts or job.parallel != "ddp"):
        raise UserError(
            said(
                "{ranks} ranks can't reduce gradients among {inner} and then between these",
                ranks=job.ranks,
                inner=job.inner_ranks,
            ),
            hint="set ranks to a multiple of inner_ranks, stages=1, experts=false and parallel=ddp",
        )
    for field in fields(job):
        value = getattr(job, field.name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or field.name in _SIGNED:
            continue
        least = 1e-9 if field.name in _POSITIVE else 0
        if not least <= value <= 1e18:
            message = said("{key} can't be {value!r}", key=field.name, value=value)
            raise UserError(message, hint="give a number in range; see docs/simulator.md")


def _check_plain(job: SimJob, what: str, otherwise: str) -> None:
    """Refuse a job that is no plain training of a transformer."""
    fixed = (("model", "transformer"), ("parallel", "ddp"), ("training", True), ("graph", False), ("recompute", False))
    for key, value in fixed:
        if getattr(job, key) != value:
            message = said("{what} can't have {key}={value}", what=what, key=key, value=getattr(job, key))
            raise UserError(
                message, hint=said("set {key}={value} or {otherwise}", key=key, value=value, otherwise=otherwise)
            )


def _check_experts(job: SimJob) -> None:
    """Refuse experts that can't be simulated."""
    _check_plain(job, said("a job with experts"), "experts=false")
    if job.stages > 1 or job.ranks < 2 or job.busy_factor > job.ranks:
        raise UserError(
            said(
                "{ranks} ranks in {stages} stages can't share experts of which one is {factor} times as busy"
                " as the mean",
                ranks=job.ranks,
                stages=job.stages,
                factor=job.busy_factor,
            ),
            hint="set stages=1, ranks to 2 or more, and busy_factor to no more than ranks",
        )


def _check_pipeline(job: SimJob) -> None:
    """Refuse a pipeline that can't be simulated."""
    _check_plain(job, said("a pipeline"), "stages=1")
    last = job.last_stage_layers or job.layers // job.stages
    if job.ranks % job.stages or last < 1 or job.layers - last < job.stages - 1:
        raise UserError(
            said(
                "{stages} stages can't share {ranks} ranks and {layers} layers",
                stages=job.stages,
                ranks=job.ranks,
                layers=job.layers,
            ),
            hint="set ranks to a multiple of stages, and layers to at least as many",
        )
    parts = job.stages * job.virtual_stages
    if job.virtual_stages > 1 and (
        job.stages < 2 or job.layers % parts or job.micro_batches % job.stages or job.last_stage_layers
    ):
        raise UserError(
            said(
                "{virtual} virtual stages on each of {stages} can't share {layers} layers and {parts} micro-batches",
                virtual=job.virtual_stages,
                stages=job.stages,
                layers=job.layers,
                parts=job.micro_batches,
            ),
            hint=said(
                "set stages to 2 or more, layers to a multiple of {parts}, micro_batches to one of {stages},"
                " and last_stage_layers=0",
                parts=parts,
                stages=job.stages,
            ),
        )
    if job.micro_batches > job.batch:
        raise UserError(
            said("a batch of {batch} has no {parts} parts", batch=job.batch, parts=job.micro_batches),
            hint="set batch to at least micro_batches",
        )
