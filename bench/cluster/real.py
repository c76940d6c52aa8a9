"""`python -m bench.cluster.real`: faults planted in one rank of a job all of whose ranks were recorded.

What is put into a rank makes it come later to its collectives; how much of that the others notice follows from how long
each has waited there before: a rank that waited itself loses its wait first. So what each step is longer by is known,
and nothing where the wait is longer than the delay.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import active_children
from pathlib import Path
from threading import Timer
from typing import Final

import numpy as np

from bench.cluster.here import here
from bench.cluster.replicas import collectives, stretched, wait
from bench.comparing.trace import Insert, PlantedTrace
from bench.environments import environment
from bench.kineto_json import Timeline
from bench.recordings.__main__ import LABELLED
from bench.repeat import repeated
from stepscope.ingest import Options, open_trace
from stepscope.ingest.dask_workers import LOCAL, dask_workers
from stepscope.ingest.workers import MakeWorkers
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.report import Report
from stepscope.rules.settings import Settings

#: A recommender on eight V100, of one step.
JOB: Final = "kineto/v100_dlrm_8ranks"
_HTA: Final = "HolisticTraceAnalysis==0.5.0"
#: Seconds after which a worker is killed.
_UNTIL_KILLED: Final = 1.0
#: Least part of the step that a late rank costs to be named.
_LEAST: Final = 0.01


class RealJob:
    """The ranks of a recorded job.

    Attributes:
        ranks: The recording of each, to be changed in place.
        start: Length of the mean step on all ranks, before anything is planted.
    """

    def __init__(self, folder: Path, steps: int, place: Path) -> None:
        """Read a file per rank, and let each step be there so many times."""
        paths = sorted(folder.glob("*.json*"))
        timelines = [Timeline.load(path) for path in paths]
        spans = [[event["ts"] for event in one.timed] for one in timelines]
        period = max(max(one) - min(one) for one in spans) + 20_000_000
        self.ranks = []
        for number, one in enumerate(timelines):
            path = place / f"rank{number}.json"
            place.mkdir(parents=True, exist_ok=True)
            repeated(one, steps, period).save(path)
            self.ranks.append(PlantedTrace(path))
        lengths = [end - start for rank in self.ranks for start, end in rank.steps]
        self.step_ns = sum(lengths) // len(lengths)
        calls = [collectives(rank) for rank in self.ranks]
        if len({len(one) for one in calls}) > 1:
            raise ValueError("the ranks have different numbers of collectives")

    def copy(self) -> RealJob:
        """The same once more."""
        found = RealJob.__new__(RealJob)
        found.ranks, found.step_ns = [one.copy() for one in self.ranks], self.step_ns
        return found

    def delay(self, culprit: int, inserts: Sequence[Insert]) -> int:
        """Put time into one rank; returns what each step is longer by, in ns."""
        late = self.ranks[culprit]
        calls = [[(one["ts"], one["dur"]) for one in collectives(rank)] for rank in self.ranks]
        durs = np.array([[dur for _, dur in one] for one in calls], np.int64)
        slack = (durs - durs.min(axis=0))[culprit].tolist()
        put, end, before, ends = list(inserts), 0, 0, list[int]()
        for (start, dur), spare in zip(calls[culprit], slack, strict=True):
            put_in = sum(extra for at, _, extra in inserts if at < start)
            arrival = end + put_in - before
            before, end = put_in, max(end, arrival - spare)
            put.append((start, start + dur, end - arrival))
            ends.append(end)
        late.insert(put)
        for number, rank in enumerate(self.ranks):
            if number != culprit:
                wait(rank, [start + dur + by for (start, dur), by in zip(calls[number], ends, strict=True)])
        return ends[-1] // max(1, len(late.steps))


@dataclass(frozen=True, slots=True)
class Fault:
    """What is planted in a job: what each step is longer by, in whom, whose file is missing or broken.

    Or a worker of those that read and analyse it is killed meanwhile.
    """

    cost_ns: int = 0
    rank: int | None = None
    missing: int | None = None
    broken: int | None = None
    killed: bool = False


def _device(job: RealJob, rank: int, factor: float) -> Fault:
    return Fault(job.delay(rank, stretched(job.ranks[rank], factor)), rank)


def _loader(job: RealJob, rank: int, share: float) -> Fault:
    """A rank's loader takes longer for each batch, before anything of the step is launched."""
    late = job.ranks[rank]
    length = int(share * job.step_ns)
    batches = late.host(lambda one: str(one["name"]).startswith("enumerate(DataLoader)"))
    moments = [late.quiet(one["ts"], one["ts"] + one["dur"]) for one in batches]
    return Fault(job.delay(rank, [(at, at + 1, length) for at in moments]), rank)


def _missing(job: RealJob, rank: int, other: int) -> Fault:
    fault = _device(job, rank, 3)
    return Fault(0 if other == rank else fault.cost_ns, None if other == rank else rank, missing=other)


def _broken(job: RealJob, rank: int, other: int) -> Fault:
    fault = _device(job, rank, 3)
    return Fault(fault.cost_ns, rank, broken=other)


def _work(job: RealJob, rank: int) -> Fault:
    """The multiplications of one rank are three times as large and long, as of experts that get more tokens."""
    late = job.ranks[rank]
    mine = {one["ts"] for one in late.kernels("gemm")}
    inserts = [one for one in stretched(late, 3) if one[0] in mine]
    for one in late.kernels("gemm"):
        if "grid" in one["args"]:
            one["args"]["grid"] = [3 * one["args"]["grid"][0], *one["args"]["grid"][1:]]
    return Fault(job.delay(rank, inserts), rank)


def _killed(job: RealJob, rank: int) -> Fault:
    return replace(_device(job, rank, 3), killed=True)


PLANTS: Final[Mapping[str, Callable[[RealJob], Fault]]] = {
    "nothing": lambda _: Fault(),
    "slow device × 1.15, the last rank": lambda job: _device(job, 7, 1.15),
    "slow device × 3, the last rank": lambda job: _device(job, 7, 3),
    "slow device × 3, a rank that waits": lambda job: _device(job, 4, 3),
    "slow device × 12, a rank that waits": lambda job: _device(job, 4, 12),
    "late loader, the last rank": lambda job: _loader(job, 7, 0.2),
    "late loader, a rank that waits": lambda job: _loader(job, 2, 0.3),
    "late loader, within its wait": lambda job: _loader(job, 1, 0.2),
    "slow device × 3, another rank missing": lambda job: _missing(job, 7, 3),
    "slow device × 3, its recording missing": lambda job: _missing(job, 7, 7),
    "slow device × 3, a broken file": lambda job: _broken(job, 7, 5),
    "experts with more tokens, the last rank": lambda job: _work(job, 7),
    "slow device × 3, a worker of Dask killed": lambda job: _killed(job, 7),
}


def main() -> None:
    """Print a row for each fault; exit with 1 where table and findings disagree, or the culprit is not named."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.real", description=__doc__)
    parser.add_argument("--folder", type=Path, default=LABELLED, help="folder with the recordings")
    parser.add_argument("--steps", type=int, default=4, help="how often the recorded step is there")
    parser.add_argument("--plant", default="", help="only plants whose name contains this")
    parser.add_argument("--hta", action="store_true", help="whom HolisticTraceAnalysis takes for a straggler, too")
    options = parser.parse_args()
    wrong, usual = 0, set[int]()
    head = "| planted | longer by | late by the table | named | culprit | price | agree | HTA | said |\n"
    print(head + "|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        whole = RealJob(options.folder / JOB, options.steps, Path(folder) / "read")
        for kind, plant in PLANTS.items():
            if options.plant not in kind and kind != "nothing":
                continue
            job = whole.copy()
            fault = plant(job)
            report = _report(job, fault, Path(folder) / kind)
            late, named, price, said = _told(report, fault.rank)
            usual = late if kind == "nothing" else usual
            right = _right(fault, job, report, named, usual)
            wrong += not right or late != named
            cells = (f"{fault.cost_ns / 1e6:.2f} ms", _listed(late), _listed(named), "ok" if right else "WRONG", price,
                     "ok" if late == named else "WRONG", _hta(Path(folder) / kind / "job") if options.hta else "–",
                     said)  # fmt: skip
            print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    raise SystemExit(bool(wrong))


def _right(fault: Fault, job: RealJob, report: Report, named: set[int], usual: set[int]) -> bool:
    """Whether the culprit is named; of one that is not at hand, whether all that are named may not be the last."""
    if fault.rank is not None and fault.cost_ns >= _LEAST * job.step_ns:
        return fault.rank in named
    if fault.missing is not None:
        shown = report.diagnosis.shown if report.diagnosis is not None else ()
        return all("not at hand may be later" in one.summary for one in shown if one.late)
    return named <= usual | {fault.rank}


def _report(job: RealJob, fault: Fault, place: Path) -> Report:
    (place / "job").mkdir(parents=True)
    for number, one in enumerate(job.ranks):
        path = place / "job" / f"rank{number}.pt.trace.json"
        if number != fault.missing:
            one.save(path)
        if number == fault.broken:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with (
        _workers(fault.killed) as workers,
        open_trace(place / "job", Options(store=place / "store", workers=workers)) as trace,
    ):
        return build_report(trace, ReportOptions(page=True, rules=Settings(), workers=workers))


@contextmanager
def _workers(killed: bool) -> Iterator[MakeWorkers]:
    """This process; or two of Dask's workers, of which one is killed while it works."""
    if not killed:
        yield here
        return
    with dask_workers(LOCAL) as make:
        first = min(one.pid for one in active_children() if one.pid)
        timer = Timer(_UNTIL_KILLED, os.kill, (first, signal.SIGKILL))
        timer.start()
        yield make
        timer.cancel()
        if first in {one.pid for one in active_children()}:
            raise RuntimeError("all was done before a worker could be killed")


def _told(report: Report, rank: int | None) -> tuple[set[int], set[int], str, str]:
    shown = report.diagnosis.shown if report.diagnosis is not None else ()
    late = {row["rank"] for row in report.rows("slow_ranks") if row["slow"]}
    cluster = [one for one in shown if one.family == "cluster" or one.late]
    about = next((one for one in cluster if rank in one.late), None)
    price = "–" if about is None else "none" if about.cost_ns is None else f"{about.cost_ns / 1e6:.2f} ms"
    said = "; ".join(f"{one.code} {one.evidence.ranks[:2]}: {one.summary}" for one in cluster[:2])
    return late, {one for finding in shown for one in finding.late}, price, said or "nothing"


def _hta(job: Path) -> str:
    """Whom HolisticTraceAnalysis takes for a straggler."""
    program = environment("hta", _HTA) / "python"
    script = Path(__file__).resolve().parents[1] / "hta_ranks.py"
    found = subprocess.run([str(program), str(script), str(job)], capture_output=True, text=True, check=False)
    return str(json.loads(found.stdout)["late"]) if not found.returncode else found.stderr.strip().splitlines()[-1]


def _listed(ranks: set[int]) -> str:
    return ", ".join(map(str, sorted(ranks))) or "nobody"


if __name__ == "__main__":
    main()
