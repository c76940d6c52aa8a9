"""Simulated jobs of many ranks in which one thing is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from stepscope.simulate import SimJob

#: Small ranks: few steps and layers, so that hundreds of them can be written. The device has work all the time.
_DEVICE_BOUND: Final = SimJob(
    layers=2, hidden=1024, heads=8, sequence=512, batch=8, vocab=1024, steps=3, python_ns=500, op_ns=300,
    launch_ns=1_500, optimizer_impl="fused", zero_gradients=False, record_calls=False, profile_memory=False,
    network_bandwidth=100e9,
)  # fmt: skip
#: The network of several hosts: as fast as links, or it would be what costs most, and rightly come first.
_NETWORK: Final = 400e9
#: From so many ranks on pipelines have two stages, which halves the number of events again.
_FEW_EVENTS: Final = 1024
#: From 64 ranks on: half as many events, and the same 9 % of the step in communication that nothing hides.
_MANY: Final = replace(_DEVICE_BOUND, layers=1, batch=16, network_bandwidth=_NETWORK)
#: The same with an ordinary host, which is as busy as the device.
_HOST_BOUND: Final = replace(_DEVICE_BOUND, python_ns=5_000, op_ns=1_600, launch_ns=4_200, batch=4)


@dataclass(frozen=True, slots=True)
class Planted:
    """A job and what is wrong with it.

    Attributes:
        kind: What is wrong.
        job: The job.
        format: What it is written as.
        codes: Rules that may name it; empty if nothing is wrong.
        ranks: The culprits: a rank, the ends of a link, or the ranks of a stage.
        stage: The stage of a pipeline; None for anything else.
    """

    kind: str
    job: SimJob
    format: str = "kineto"
    codes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    stage: int | None = None


def _healthy(job: SimJob, _: Random) -> Planted:
    return Planted("healthy", job)


def _skewed(job: SimJob, rng: Random) -> Planted:
    return Planted("clocks that differ, else healthy", _skew(job, rng))


def _skew(job: SimJob, rng: Random) -> SimJob:
    """Clocks that are milliseconds off; a host has a quarter of the ranks, no more than eight."""
    ahead = rng.choice((-1, 1)) * rng.randrange(1_000_000, 9_000_000)
    return replace(job, clock_offset_ns=ahead, ranks_per_host=max(1, min(8, job.ranks // 4)))


def _slow_device(job: SimJob, rng: Random) -> Planted:
    rank = rng.randrange(job.ranks)
    return Planted(
        "slow device", replace(job, slow_rank=rank, slow_factor=rng.uniform(1.15, 2)), codes=("CLU001",), ranks=(rank,)
    )


def _slow_device_skewed(job: SimJob, rng: Random) -> Planted:
    found = _slow_device(_skew(job, rng), rng)
    return replace(found, kind="slow device, clocks that differ")


def _slow_host(job: SimJob, rng: Random) -> Planted:
    rank = rng.randrange(job.ranks)
    slow = {name: getattr(_HOST_BOUND, name) for name in ("python_ns", "op_ns", "launch_ns", "batch")}
    slow |= {"slow_host_rank": rank, "slow_host_factor": rng.uniform(1.5, 3)}
    return Planted("slow host", replace(job, **slow), codes=("CLU003",), ranks=(rank,))


def _slow_loader(job: SimJob, rng: Random) -> Planted:
    """A batch takes less than a step everywhere but on one rank."""
    rank = rng.randrange(job.ranks)
    loads = replace(
        job, workers=1, load_ns=1_500_000 if job.batch < _MANY.batch else 3_000_000, slow_loader_rank=rank,
        slow_loader_factor=rng.uniform(1.7, 2.5),
    )  # fmt: skip
    # Where its waits for batches are recorded, the rank is told by these.
    return Planted("slow loader", loads, codes=("CLU004", "DAT001"), ranks=(rank,))


def _piped(job: SimJob) -> SimJob:
    stages = 4
    return replace(
        job, stages=stages, layers=2 * stages, micro_batches=2 * stages, batch=2 * stages, sequence=1024, vocab=16,
        optimizer="sgd",
    )  # fmt: skip


def _two_stages(job: SimJob) -> SimJob:
    """A pipeline whose bubble is a ninth of the step, so that what is planted costs more; and of few events."""
    return replace(_piped(job), stages=2, layers=2, sequence=4096, network_bandwidth=_NETWORK)


def _healthy_stages(job: SimJob, _: Random) -> Planted:
    return Planted("healthy, stages", _two_stages(job))


def _interleaved(job: SimJob) -> SimJob:
    """Each rank of a pipeline holds two parts of the model."""
    stages = 4 if job.ranks < _FEW_EVENTS else 2
    return replace(
        _two_stages(job), stages=stages, virtual_stages=2, layers=2 * stages, micro_batches=4 * stages,
        batch=4 * stages, sequence=2048,
    )  # fmt: skip


def _healthy_interleaved(job: SimJob, _: Random) -> Planted:
    return Planted("healthy, interleaved stages", _interleaved(job))


def _slow_device_interleaved(job: SimJob, rng: Random) -> Planted:
    return replace(_slow_device(_interleaved(job), rng), kind="slow device, interleaved stages")


def _slow_device_in_stage(job: SimJob, rng: Random) -> Planted:
    return replace(_slow_device(_two_stages(job), rng), kind="slow device in a stage")


def _slow_host_in_stage(job: SimJob, rng: Random) -> Planted:
    found = _slow_host(job, rng)
    return replace(found, kind="slow host in a stage", job=replace(_two_stages(found.job), sequence=1024))


def _slow_link_of_stages(job: SimJob, rng: Random) -> Planted:
    """A link between two ranks that send each other activations and gradients."""
    job = _two_stages(job)
    rank = rng.randrange(job.ranks // 2)
    ends = rank, rank + job.ranks // 2
    slow = replace(job, slow_link_rank=ends[0], slow_link_peer=ends[1], slow_link_factor=rng.uniform(4, 12))
    return Planted("slow link between stages", slow, codes=("CLU002",), ranks=ends)


def _slow_link(job: SimJob, rng: Random) -> Planted:
    """A link between two ranks that reduce gradients together before all do: their group is slower than its like."""
    inner = 2 if job.ranks < 64 else 4
    first = rng.randrange(job.ranks // inner) * inner
    rank, peer = rng.sample(range(first, first + inner), 2)
    slow = replace(
        job, inner_ranks=inner, slow_link_rank=rank, slow_link_peer=peer, slow_link_factor=rng.uniform(3, 8), batch=2
    )
    return Planted("slow link in a group", slow, codes=("CLU002",), ranks=(rank, peer))


def _slow_pair(job: SimJob, rng: Random) -> Planted:
    """A link between two devices of a host, whose transfers the library records one by one."""
    rank = rng.randrange(job.ranks)
    per_host = min(job.ranks, 8)
    peer = rng.choice([other for other in range(job.ranks) if other // per_host == rank // per_host and other != rank])
    slow = replace(
        job, device="ascend910b2", ranks_per_host=per_host, slow_link_rank=rank, slow_link_peer=peer,
        slow_link_factor=rng.uniform(2, 6),
    )  # fmt: skip
    return Planted("slow link of a pair", slow, "ascend", ("CLU002",), (rank, peer))


def _uneven_stage(job: SimJob, rng: Random) -> Planted:
    job = _piped(job) if job.ranks < _FEW_EVENTS else _two_stages(job)
    last = job.layers // job.stages
    layers = job.layers + last - job.layers % 2
    width = job.ranks // job.stages
    stage = job.stages - 1
    uneven = replace(job, layers=layers, last_stage_layers=last + rng.randint(1, last))
    ranks = tuple(range(stage * width, job.ranks))
    return Planted("uneven stages", uneven, codes=("CLU006",), ranks=ranks, stage=stage)


def _uneven_experts(job: SimJob, rng: Random) -> Planted:
    rank = rng.randrange(job.ranks)
    uneven = replace(_expert(job), busy_rank=rank, busy_factor=rng.uniform(1.4, 3))
    return Planted("uneven experts", uneven, codes=("CLU004",), ranks=(rank,))


def _even_experts(job: SimJob, _: Random) -> Planted:
    return Planted("even experts, healthy", _expert(job))


def _expert(job: SimJob) -> SimJob:
    """Experts over all ranks."""
    return replace(job, experts=True, network_bandwidth=_NETWORK)


#: All kinds; those without a culprit are healthy.
KINDS: Final[tuple[Callable[[SimJob, Random], Planted], ...]] = (
    _healthy, _skewed, _even_experts, _slow_device, _slow_device_skewed, _slow_host, _slow_link, _slow_pair,
    _uneven_stage, _uneven_experts, _healthy_stages, _slow_device_in_stage, _slow_host_in_stage, _slow_link_of_stages,
    _slow_loader, _healthy_interleaved, _slow_device_interleaved,
)  # fmt: skip


def planted(make: Callable[[SimJob, Random], Planted], ranks: int, seed: int) -> Planted:
    """One job of a kind; the seed draws the culprit, how bad it is, and the noise."""
    rng = Random(f"{make.__name__} {ranks} {seed}")
    job = _DEVICE_BOUND if ranks < 64 else _MANY
    return make(replace(job, ranks=ranks, noise=rng.uniform(0.01, 0.05), noise_seed=seed), rng)
