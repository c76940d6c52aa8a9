"""One case: a job with faults or without, what it costs in truth, and what is found in its recording."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.diagnosis.reality import real
from stepscope.ingest import Options, open_trace
from stepscope.rules.engine import diagnose
from stepscope.rules.settings import Settings
from stepscope.simulate.api import simulate
from stepscope.simulate.devices import DEVICES
from stepscope.simulate.engine.run import Simulation
from stepscope.simulate.faults import inject
from stepscope.simulate.job import SimJob


@dataclass(frozen=True, slots=True)
class Found:
    """A finding as the benchmark looks at it."""

    code: str
    title: str
    cost_ns: int | None
    family: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case.

    Attributes:
        job: Name of the job.
        format: Format of its recording.
        faults: What was injected; empty for a healthy job.
        base_ns: Mean step without the faults, by the simulator's account.
        step_ns: Mean step with them.
        without: Mean step without each one of them, in their order.
        findings: What is shown, in order.
        told_ns: Typical step as the diagnosis sees it.
    """

    job: str
    format: str
    faults: tuple[str, ...]
    base_ns: int
    step_ns: int
    without: tuple[int, ...]
    findings: tuple[Found, ...]
    told_ns: int | None

    @property
    def costs(self) -> tuple[int, ...]:
        """What each fault costs: the step with all faults less the step without it."""
        return tuple(self.step_ns - one for one in self.without)


def step_ns(job: SimJob, faults: tuple[str, ...]) -> int:
    """Mean typical step of a job with faults, by the simulator's account.

    Without the first recorded one: profilers let the device run dry before they record, and it has to catch up.
    """
    simulation = Simulation(inject(job, faults))
    for _ in simulation.batches():
        pass
    lengths = [step["tile"]["total_ns"] for rank in simulation.truth() for step in rank["steps"][1:] if step["typical"]]
    return sum(lengths) // len(lengths)


def format_of(job: SimJob) -> str:
    """The format a job is recorded in: that of its platform; every fourth job on NVIDIA devices in Nsight's."""
    vendor = DEVICES[job.device].vendor
    if vendor == "huawei":
        return "ascend"
    return "nsight" if vendor == "nvidia" and job.seed % 4 == 0 and job.stages == 1 else "kineto"


def judged(job: SimJob, faults: tuple[str, ...], *, reality: bool = True) -> Outcome:
    """Simulate, write, read and diagnose.

    Args:
        job: The job.
        faults: What to inject.
        reality: Whether the recording is as full of other things as real ones are.
    """
    if reality:
        job = real(job)
    base, slow = step_ns(job, ()), step_ns(job, faults)
    without = tuple(step_ns(job, tuple(f for f in faults if f != fault)) for fault in faults)
    with tempfile.TemporaryDirectory(prefix="stepscope-bench-") as folder:
        paths = simulate(job, Path(folder) / "job", format_of(job), faults=faults)
        with open_trace(paths if len(paths) > 1 else paths[0], Options(cache=False)) as trace:
            diagnosis = diagnose(trace, Settings(), strict=True)
    found = tuple(Found(f.code, f.title, f.cost_ns, f.family) for f in diagnosis.shown)
    return Outcome(job.name, format_of(job), faults, base, slow, without, found, diagnosis.step_ns)
