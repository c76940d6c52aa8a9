"""`python -m bench.whatif`: predictions of changes against simulating the changed job, as in docs/whatif.md."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.whatif.experiments import EXPERIMENTS
from bench.whatif.jobs import family
from stepscope.analyses.communication.decisive_rank import decisive_rank
from stepscope.analyses.stepgraph import StepGraph
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UserError
from stepscope.simulate import SimJob, simulate

#: A change is set apart if it makes the device wait for data for a share of the time that is larger by this.
_LOADER = 0.02


@dataclass(frozen=True, slots=True)
class Case:
    """One prediction for one rank; times in ns per step.

    Attributes:
        change: Name of the experiment.
        seed: The job.
        rank: Whose recording was asked.
        decisive: Whether that is the rank that waits least for others, which `stepscope whatif` asks.
        hidden: Whether the loader, which had kept up, became the limit.
        base: Step before the change.
        predicted: Step after it, as predicted.
        simulated: Step after it.
    """

    change: str
    seed: int
    rank: int
    decisive: bool
    hidden: bool
    base: int
    predicted: int
    simulated: int

    @property
    def error(self) -> float:
        """Relative error."""
        return abs(self.predicted - self.simulated) / self.simulated


def main() -> None:
    """Print the errors by kind of change, and the worst predictions."""
    parser = argparse.ArgumentParser(prog="python -m bench.whatif", description=__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first job; tuning used those below 1000")
    parser.add_argument("--only", default="", help="changes whose name contains this")
    parser.add_argument("--worst", type=int, default=0, help="how many of the worst predictions to list")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.jobs)
    cases = [case for seed in seeds for case in predictions(seed, options.only)]
    plain = [case for case in cases if case.decisive and not case.hidden]
    print("| change | predictions | median error | 90 % | worst | within 5 % |\n|---|---|---|---|---|---|")
    for experiment in EXPERIMENTS:
        _row(experiment.name, (case for case in plain if case.change == experiment.name))
    _row("**all**", plain)
    _row("all, asked of a rank that waits for others", (c for c in cases if not c.decisive and not c.hidden))
    _row("all where the loader became the limit", (case for case in cases if case.hidden))
    for case in sorted(plain, key=lambda case: -case.error)[: options.worst]:
        print(f"{case.error:7.2%}", case)


def _row(name: str, cases: Iterable[Case]) -> None:
    found = sorted(case.error for case in cases)
    if found:
        good = sum(error <= 0.05 for error in found) / len(found)
        tail = found[int(0.9 * (len(found) - 1))]
        print(f"| {name} | {len(found)} | {median(found):.2%} | {tail:.2%} | {found[-1]:.2%} | {good:.1%} |")


def predictions(seed: int, only: str) -> Iterator[Case]:
    """All changes that apply to a job, each asked of the recordings of two ranks."""
    job = family(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, truth = recorded(job, Path(folder) / "base")
        with open_trace(path, Options(cache=False)) as trace:
            decisive = decisive_rank(trace)
            ranks = (decisive, next((rank for rank in trace.ranks[::-1] if rank != decisive), decisive))
            for experiment in EXPERIMENTS:
                if only not in experiment.name or not experiment.applies(job):
                    continue
                changed = recorded(experiment.job(job), Path(folder) / "changed")[1]
                for rank in dict.fromkeys(ranks):
                    try:
                        change = experiment.change(trace.rank(rank), job)
                    except UserError:  # what is to be changed happens to lie outside the recorded steps
                        continue
                    found = StepGraph.of(trace.rank(rank)).predict(change)
                    hidden = waited(changed, rank) > waited(truth, rank) + _LOADER
                    real = step_ns(changed, rank, found.steps)
                    yield Case(experiment.name, seed, rank, rank == decisive, hidden, found.base_ns, found.new_ns, real)


def recorded(job: SimJob, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Where the recording of a job is, and the truth about it."""
    out = folder if job.ranks > 1 else folder / "trace.json"
    simulate(job, out)
    truth = folder / ("job.truth.json" if job.ranks > 1 else "trace.truth.json")
    return out, json.loads(truth.read_text())


def waited(truth: dict[str, Any], rank: int) -> float:
    """Share of the time in which the device waited for data."""
    tiles = [step["tile"] for step in truth["ranks"][rank]["steps"]]
    return sum(tile["idle_causes"].get("data wait", 0) for tile in tiles) / sum(tile["total_ns"] for tile in tiles)


def step_ns(truth: dict[str, Any], rank: int, steps: tuple[int, ...]) -> int:
    """Mean length of the given steps, which have the numbers that they were recorded with."""
    lengths = {step["step"]: step["tile"]["total_ns"] for step in truth["ranks"][rank]["steps"]}
    return sum(lengths[step] for step in steps) // len(steps)


if __name__ == "__main__":
    main()
