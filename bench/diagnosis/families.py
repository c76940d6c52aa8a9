"""Random well-tuned jobs: one family to tune rules with, one for the published figure."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from stepscope.simulate.engine.run import Simulation
from stepscope.simulate.job import SimJob

#: A job counts as well tuned if the device computes this part of the time at least, or turns from one kernel to the
#: next that waits in its queue already; what is left is for the last gradients, which no compute can hide.
_BUSY = 0.97
#: Every second job has a step this short, in which the host has little time to spare, in ns.
_SHORT = 8_000_000
#: Bus bandwidth of large collectives between devices of one host, bytes/s: 70 % of one direction of what the vendor
#: states for its links. NPUs have a link of 20 GB/s to each other one, as recordings show.
_LINKS = {"v100": 105e9, "a100": 210e9, "h100": 315e9, "b200": 630e9, "mi300x": 310e9}
_HCCS = 20e9


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
    network: tuple[float, ...]
    latency_ns: tuple[int, ...]


FAMILIES = {
    family.name: family
    for family in (
        Family("tuning", 10_000, ("a100", "h100", "v100", "ascend910b2"), (1024, 2048), (2, 3, 5), (512, 1024),
               (2, 4, 8, 16), (8_000, 16_000), (1, 2, 4), (1_400, 1_800), (3_000, 5_000), (0.0, 0.03),
               (1_200_000, 2_400_000), (5,), (22e9, 40e9), (14_000, 24_000, 110_000)),
        Family("published", 500_000, ("b200", "mi300x", "ascend910b3"), (1280, 1536, 2560), (4, 6, 7), (640, 768, 1536),
               (3, 6, 12, 24), (10_000, 24_000), (1, 3, 6), (1_200, 1_600, 2_200), (2_500, 4_000, 6_500),
               (0.01, 0.05, 0.08), (900_000, 1_800_000, 3_100_000), (4, 6), (18e9, 30e9, 45e9),
               (12_000, 30_000, 90_000)),
    )
}  # fmt: skip


def healthy_jobs(family: Family, count: int) -> list[SimJob]:
    """The first well-tuned jobs of a family, every second one with short steps."""
    jobs: list[SimJob] = []
    seed = family.first_seed
    while len(jobs) < count:
        job = _drawn(family, seed)
        if well_tuned(job, _SHORT if len(jobs) % 2 else None):
            jobs.append(job)
        seed += 1
    return jobs


def with_ranks(job: SimJob, ranks: int) -> SimJob:
    """The job on so many ranks, with the links that such devices have to each other."""
    meshed = _HCCS * max(1, min(ranks, job.ranks_per_host) - 1)
    return replace(job, ranks=ranks, link_bandwidth=_LINKS.get(job.device, meshed))


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
        zero_gradients=False,
        parallel=pick(("ddp", "ddp", "fsdp")) if model == "transformer" else "ddp",
        ranks_per_host=pick((2, 8)),
        network_bandwidth=pick(family.network),
        comm_latency_ns=pick(family.latency_ns),
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
    return with_ranks(job, ranks)


def well_tuned(job: SimJob, short: int | None = None) -> bool:
    """Whether every rank's device is busy nearly all the time, in steps of less than ``short`` ns.

    Stages of a pipeline wait for each other by their nature; that counts as being busy.
    """
    simulation = Simulation(replace(job, steps=3))
    for _ in simulation.batches():
        pass
    # The profiler lets the device run dry before it records; the first step has to catch up.
    tiles = [[step["tile"] for step in rank["steps"][1:]] for rank in simulation.truth()]
    if short is not None and sum(tile["total_ns"] for tile in tiles[0]) >= short * len(tiles[0]):
        return False
    return all(
        sum(_busy_ns(tile, job.stages > 1) for tile in each) >= _BUSY * sum(tile["total_ns"] for tile in each)
        for each in tiles
    )


def _busy_ns(tile: dict[str, Any], piped: bool) -> int:
    return int(tile["compute_ns"] + tile["idle_causes"].get("launch latency", 0) + tile["exposed_comm_ns"] * piped)
