"""Random well-tuned jobs: one family to tune rules with, one for the published figure."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from stepscope.simulate.engine.run import Simulation
from stepscope.simulate.job import SimJob

#: A job counts as well tuned if the device computes this part of the time at least.
_BUSY = 0.98


@dataclass(frozen=True, slots=True)
class Family:
    """Values that a family's jobs take; no two families share a value where a job can take more than two.

    Attributes:
        name: As on the command line.
        first_seed: Its jobs are drawn with this seed and the following ones.
    """

    name: str
    first_seed: int
    devices: tuple[str, ...]
    hidden: tuple[int, ...]
    layers: tuple[int, ...]
    sequences: tuple[int, ...]
    batches: tuple[int, ...]
    vocab: tuple[int, ...]
    ranks: tuple[int, ...]
    op_ns: tuple[int, ...]
    python_ns: tuple[int, ...]
    noise: tuple[float, ...]
    load_ns: tuple[int, ...]
    steps: tuple[int, ...]


FAMILIES = {
    family.name: family
    for family in (
        Family("tuning", 10_000, ("a100", "h100", "v100", "ascend910b2"), (1024, 2048), (3, 5), (512, 1024), (8, 16),
               (8_000, 16_000), (1, 2, 4), (1_400, 1_800), (3_000, 5_000), (0.0, 0.03), (1_200_000, 2_400_000), (5,)),
        Family("published", 500_000, ("b200", "mi300x", "ascend910b3"), (1280, 1536, 2560), (4, 6, 7), (640, 768, 1536),
               (6, 12, 24), (10_000, 24_000), (1, 3, 6), (1_200, 1_600, 2_200), (2_500, 4_000, 6_500),
               (0.01, 0.05, 0.08), (900_000, 1_800_000, 3_100_000), (4, 6)),
    )
}  # fmt: skip


def healthy_jobs(family: Family, count: int) -> list[SimJob]:
    """The first well-tuned jobs of a family."""
    jobs: list[SimJob] = []
    seed = family.first_seed
    while len(jobs) < count:
        job = _drawn(family, seed)
        if well_tuned(job):
            jobs.append(job)
        seed += 1
    return jobs


def _drawn(family: Family, seed: int) -> SimJob:
    rng = random.Random(seed)
    pick: Any = rng.choice
    ranks = pick(family.ranks)
    model = pick(("transformer", "transformer", "convnet"))
    job = SimJob(
        name=f"{family.name}-{seed}",
        model=model,
        device=pick(family.devices),
        layers=pick(family.layers),
        hidden=pick(family.hidden),
        heads=16,
        sequence=pick(family.sequences),
        batch=pick(family.batches),
        vocab=pick(family.vocab),
        dtype=pick(("bf16", "fp16")),
        optimizer=pick(("adamw", "sgd")),
        optimizer_impl=pick(("fused", "foreach")),
        parallel=pick(("ddp", "ddp", "fsdp")) if model == "transformer" else "ddp",
        ranks=ranks,
        ranks_per_host=pick((2, 8)),
        op_ns=pick(family.op_ns),
        python_ns=pick(family.python_ns),
        load_ns=pick(family.load_ns),
        noise=pick(family.noise),
        noise_seed=seed,
        seed=seed,
        steps=pick(family.steps),
        with_stack=rng.random() < 0.3,
        profile_memory=rng.random() < 0.7,
    )
    if model == "convnet":
        job = replace(job, hidden=pick((64, 128)), image=pick((112, 160)), batch=4 * job.batch)
    return job


def well_tuned(job: SimJob) -> bool:
    """Whether every rank computes nearly all the time."""
    return min(busy_share(job)) >= _BUSY


def busy_share(job: SimJob) -> list[float]:
    """The part of all steps in which the device computes, by rank, from the simulator's own account."""
    simulation = Simulation(job)
    for _ in simulation.batches():
        pass
    shares = []
    for rank in simulation.truth():
        tiles = [step["tile"] for step in rank["steps"]]
        shares.append(sum(t["compute_ns"] for t in tiles) / sum(t["total_ns"] for t in tiles))
    return shares
