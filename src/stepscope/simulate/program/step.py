"""One whole training step as a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stepscope.simulate.job import SimJob
from stepscope.simulate.kernels import KernelFactory
from stepscope.simulate.pipeline import PipelineStage, experts_of, levels_of, stage_of
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program import models, ops
from stepscope.simulate.program.builder import Builder
from stepscope.simulate.program.communication import Communicator
from stepscope.simulate.program.experts import Experts
from stepscope.simulate.program.optimizer import optimizer_step, zero_grad
from stepscope.simulate.program.pipelined import Pipelined
from stepscope.simulate.program.reducer import Reducer
from stepscope.simulate.program.sharder import Sharder
from stepscope.simulate.records import AUTOGRAD, COMPUTE, COPY, MAIN
from stepscope.simulate.specs import KernelSpec, TensorSpec


@dataclass(frozen=True, slots=True)
class StepProgram:
    """The program of a step with one batch shape.

    Attributes:
        setup: allocations that live as long as the job (parameters, gradients, optimizer state).
        body: the step.
        sequences: autograd numbers a step takes.
        batch_bytes: what the loader delivers.
    """

    setup: ins.Program
    body: ins.Program
    sequences: int
    batch_bytes: int


def compile_step(job: SimJob, sequence: int, rank: int = 0) -> StepProgram:
    """The program of a step whose batch has ``sequence`` tokens per sample."""
    b, stage = Builder(job, KernelFactory.of(job)), stage_of(job, rank)
    x, target = models.batch_tensors(b, sequence)
    copy_event = 1_000_000
    with b.frame("train.py(30): <module>"):
        with b.frame("torch/utils/data/dataloader.py(701): __next__"):
            b.out.append(ins.NextBatch())
        queue = COPY if job.copy_stream else COMPUTE
        for _ in range(job.spare_copies):
            b.free(ops.host_to_device(b, x, queue))
        inputs = [ops.host_to_device(b, tensor, queue) for tensor in (x, target)]
        if job.copy_stream:
            b.out.append(ins.RecordEvent(copy_event, COPY))
            b.out.append(ins.WaitEvent(copy_event, COMPUTE))
        reducer = _parallel(b, stage, rank)
        if job.experts:
            # Event numbers of the groups differ.
            b.feed_forward = Experts(b, Communicator(b, experts_of(job), 3_000_000), rank).feed_forward
        if job.stages > 1:
            _pipelined(b, stage, x, target, reducer)
        elif job.graph:
            _replayed(b, lambda: _forward_backward(b, x, target, None))
            if reducer is not None:
                for param in reversed(b.params):
                    _ready(b, param)
                reducer.finish()
        else:
            _forward_backward(b, x, target, reducer)
        if job.training:
            optimizer_step(b)
        b.free(*inputs)
        if job.leak_bytes:
            b.slots += 1
            b.out.append(ins.Alloc(-1, job.leak_bytes, ("train.py(52): log_metrics",)))
        if job.empty_cache:
            with b.frame("torch/cuda/memory.py(218): empty_cache"):
                b.out.append(ins.EmptyCache())
        if job.sync_each_step:
            with b.frame("torch/cuda/__init__.py(950): synchronize"):
                b.out.append(ins.Sync(-1))
    return StepProgram(_setup(b), tuple(b.out), b.sequence, x.bytes + target.bytes)


def alike(job: SimJob, rank: int) -> int:
    """A rank that runs the same program: ranks differ in their groups, and in the tokens for their experts."""
    if job.stages > 1 or job.inner_ranks or (job.experts and rank == job.busy_rank):
        return rank
    return int(job.experts and job.busy_rank == 0)


def _setup(b: Builder) -> ins.Program:
    """Allocations of what lives as long as the job: each parameter, its gradient, and its optimizer state."""
    job = b.job
    shards = job.ranks if job.parallel == "fsdp" else 1
    optimizer = f"torch/optim/{job.optimizer}.py(160): _init_group"
    purposes = ["torch/nn/modules/module.py(1355): convert"]
    if job.training:
        purposes += ["torch/_tensor.py(570): backward", *[optimizer] * (2 if job.optimizer == "adamw" else 0)]
    return tuple(
        ins.Alloc(-1, param.bytes // shards, ("train.py(12): <module>", purpose))
        for param in b.params
        for purpose in purposes
    )


def _pipelined(
    b: Builder, stage: PipelineStage, x: TensorSpec, target: TensorSpec, reducer: Reducer | Sharder | None
) -> None:
    """Forwards and backwards of all micro-batches, each a part of the batch."""
    part = b.job.batch // b.job.micro_batches
    tokens, wanted = (TensorSpec((part, *given.shape[1:]), given.dtype) for given in (x, target))
    zero_grad(b)
    # Event numbers of the two groups differ.
    group = Communicator(b, stage.pipe, events=2_000_000)
    Pipelined(b, stage, group, reducer if isinstance(reducer, Reducer) else None, tokens, wanted).run()


def _parallel(b: Builder, stage: PipelineStage, rank: int) -> Reducer | Sharder | None:
    """The exchange of gradients between ranks if there are several; called back as the model runs."""
    if len(stage.replicas.ranks) == 1:
        return None
    if b.job.parallel == "fsdp":
        sharder = Sharder(b, Communicator(b, stage.replicas))
        b.unit = sharder.unit
        return sharder
    if not b.job.training:
        return None
    if b.job.inner_ranks:
        inner, outer = levels_of(b.job, rank)
        reducer = Reducer(b, Communicator(b, inner), Communicator(b, outer, events=4_000_000))
    else:
        reducer = Reducer(b, Communicator(b, stage.replicas))
    b.on_grad = reducer.ready
    return reducer


def _forward_backward(b: Builder, x: TensorSpec, target: TensorSpec, reducer: Reducer | Sharder | None) -> None:
    if b.job.ranks > 1 and b.job.training:
        name = "DistributedDataParallel" if b.job.parallel == "ddp" else "FullyShardedDataParallel"
        with b.annotation(f"{name}.forward"):
            models.forward(b, x, target)
    else:
        models.forward(b, x, target)
    if not b.job.training:
        return
    zero_grad(b)
    b.python(2)
    with b.frame("torch/_tensor.py(570): backward", "torch/autograd/__init__.py(242): backward"):
        b.out.append(ins.SwitchThread(AUTOGRAD))
        b.run_backward(b.tape)
        if reducer is not None:
            reducer.finish()
        b.out.append(ins.SwitchThread(MAIN))


def _replayed(b: Builder, emit: Callable[[], None]) -> None:
    """Replace what ``emit`` puts out by one launch of a graph of its kernels."""
    outer, b.out = b.out, []
    emit()
    kernels: list[KernelSpec] = [i.kernel for i in b.out if isinstance(i, ins.Launch)]
    b.out = outer
    b.python()
    b.out.append(ins.Replay(tuple(kernels), COMPUTE))


def _ready(b: Builder, param: TensorSpec) -> None:
    if b.on_grad is not None:
        b.on_grad(param)
