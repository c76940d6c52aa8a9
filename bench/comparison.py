"""`python -m bench.comparison`: alarms of pairs that differ by noise alone, and what known changes are put down to.

Pairs are simulated: the new side is another recording of the same job with other noise; in the second table, with one
change and no noise.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from stepscope.comparison.build import compare_traces
from stepscope.comparison.gates import growth_limit, judge
from stepscope.comparison.result import Comparison
from stepscope.ingest import Options, open_trace
from stepscope.simulate import SimJob, simulate

#: Jobs of a few hundred events per step; the noise is the relative spread of single times.
JOBS: Final = (
    SimJob(name="mlp", model="mlp", layers=2, steps=8, noise=0.3),
    SimJob(name="transformer", model="transformer", layers=1, steps=8, noise=0.3, compute_scale=4.0),
    SimJob(name="loader", model="mlp", layers=2, steps=8, noise=0.1, workers=0, load_ns=1_500_000, load_jitter=0.3),
    SimJob(name="ranks", model="mlp", layers=2, steps=8, noise=0.3, ranks=2, overlap_comm=False),
    SimJob(name="few", model="mlp", layers=2, steps=3, noise=0.3, workers=0, load_jitter=0.2),
)
#: Changes, and the part of the step that each of them is about.
CHANGES: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "slower kernels": ("compute", {"compute_scale": 30.0}),
    "slower loader": ("idle.data_wait", {"workers": 0, "load_ns": 4_000_000}),
    "slower links": ("exposed_communication", {"link_bandwidth": 1e8}),
    "slower operators": ("idle.host_dispatch", {"op_ns": 60_000}),
    "pageable batches": ("exposed_copy", {"batch": 4096, "pinned": False, "pageable_bandwidth": 2e9}),
    "more copies": ("exposed_copy", {"spare_copies": 3}),
    "more ranks": ("exposed_communication", {"ranks": 4}),
    "unfused elementwise kernels": ("compute", {"elementwise_split": 3}),
    "recompute": ("compute", {"recompute": True}),
    "optimizer by tensor": ("compute", {"optimizer_impl": "loop"}),
}
#: Changes of one class of kernels or one phase, and what of compute they are about.
WITHIN_COMPUTE: Final[Mapping[str, tuple[str, str]]] = {
    "unfused elementwise kernels": ("op_class", "elementwise"),
    "recompute": ("phase", "recomputation"),
    "optimizer by tensor": ("phase", "optimizer"),
}
#: What the base of a change has in common with it.
COMMON: Final[Mapping[str, dict[str, Any]]] = {
    "slower kernels": {"compute_scale": 20.0},
    "slower loader": {"workers": 0, "load_ns": 2_000_000},
    "slower links": {"ranks": 2, "overlap_comm": False, "link_bandwidth": 2e8},
    "pageable batches": {"batch": 4096, "pinned": False},
    "more copies": {"batch": 4096, "compute_scale": 10.0},
    "more ranks": {"ranks": 2, "overlap_comm": False, "link_bandwidth": 2e8},
    **{name: {"model": "transformer", "compute_scale": 20.0} for name in WITHIN_COMPUTE},
}


def noise_pair(number: int) -> Comparison:
    """A pair that differs by noise alone."""
    job = JOBS[number % len(JOBS)]
    return compared(replace(job, seed=2 * number, noise_seed=2 * number + 1),
                    replace(job, seed=2 * number + 1, noise_seed=2 * number + 2))  # fmt: skip


def alarms(found: Comparison) -> tuple[bool, bool]:
    """Whether the verdict is a difference, and whether a gate on 3 % of step time fails."""
    [result] = judge([growth_limit("step_time>3%")], found.metrics)
    return found.verdict in ("faster", "slower"), result.failed


def changed_pair(name: str) -> Comparison:
    """A pair with a known change and without noise."""
    job = SimJob(name="changed", model="mlp", layers=2, steps=6)
    base = replace(job, **COMMON.get(name, {}))
    return compared(base, replace(base, **CHANGES[name][1]))


def share_of_part(found: Comparison, part: str) -> float:
    """What a part explains of the step's difference."""
    times = found.step_time
    return next(row.diff_ns for row in found.parts if row.key == part) / (times.new_ns - times.base_ns)


def share_within_compute(found: Comparison, column: str, value: str) -> float:
    """What a class of kernels or a phase explains of the difference of compute."""
    rows = found.table("compute_classes").records()
    return sum(row["diff_ns"] for row in rows if row[column] == value) / sum(row["diff_ns"] for row in rows)


def compared(base: SimJob, new: SimJob) -> Comparison:
    """Simulate and compare two jobs."""
    with tempfile.TemporaryDirectory() as folder:
        for name, job in (("base", base), ("new", new)):
            simulate(job, Path(folder) / name)
        options = Options(cache=False)
        with open_trace(Path(folder) / "base", options) as one, open_trace(Path(folder) / "new", options) as other:
            return compare_traces(one, other)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.comparison", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100, help="pairs that differ by noise alone")
    pairs = parser.parse_args().pairs
    verdicts: Counter[str] = Counter()
    failed = 0
    for number in range(pairs):
        found = noise_pair(number)
        verdicts[found.verdict] += 1
        if any(alarm := alarms(found)):
            print(number, JOBS[number % len(JOBS)].name, found.verdict, found.step_time.reason)
        failed += alarm[1]
    print(f"{pairs} pairs: {dict(verdicts)}, {failed} failed step_time>3%")
    print("| change | step | part | share of the difference |\n|---|---|---|---|")
    for name, (part, _) in CHANGES.items():
        found = changed_pair(name)
        times = found.step_time
        ratio = times.new_ns / times.base_ns
        print(f"| {name} | {ratio:.2f} | {part} | {share_of_part(found, part):.3f} |", found.verdict)
        if name in WITHIN_COMPUTE:
            share = share_within_compute(found, *WITHIN_COMPUTE[name])
            print(f"| {name} | | compute, {WITHIN_COMPUTE[name][1]} | {share:.3f} of compute's |")


if __name__ == "__main__":
    main()
