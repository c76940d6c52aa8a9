"""`python -m bench.cluster.recorded`: faults of one rank planted in real recordings; rank, reason and price named?"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.cluster.here import here
from bench.cluster.replicas import Replicas, collectives, regroup, stretched
from bench.comparing.trace import Insert, PlantedTrace
from bench.kineto_json import Event
from bench.recordings.__main__ import LABELLED
from bench.recordings.variants.kineto import category
from stepscope.ingest import Options, open_trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.report import Report
from stepscope.rules.settings import Settings

#: Recordings of one rank of a job, with collectives in some whole steps.
RECORDINGS: Final = ("kineto/mi300_resnet_recompute_ddp8/trace.json.gz", "kineto/a100_nccl_args/trace.json.gz")
#: A price may be off by this much of the truth.
_OFF: Final = 0.1
_CULPRIT: Final = 2


@dataclass(frozen=True, slots=True)
class Truth:
    """What is wrong with a job.

    Attributes:
        codes: Rules that may name it; empty if nothing is wrong, or nothing can be told.
        ranks: Who is to be named: a rank, or the ranks of a group.
        cost_ns: What each step is longer by.
        late: The rank that others wait for; None for nobody.
        says: Code of a line of health that must be there.
    """

    codes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    cost_ns: int = 0
    late: int | None = None
    says: str = ""


def nothing(_: Replicas) -> Truth:
    """Equal ranks."""
    return Truth()


def slow_device(job: Replicas) -> Truth:
    """The kernels of one rank take 1.4 times as long."""
    cost = job.delay(_CULPRIT, stretched(job.ranks[_CULPRIT], 1.4))
    return Truth(("CLU001",), (_CULPRIT,), cost, _CULPRIT)


def more_work(job: Replicas) -> Truth:
    """One rank gets more: its kernels have 1.5 times the blocks and take 1.5 times as long."""
    late = job.ranks[_CULPRIT]
    inserts = stretched(late, 1.5)
    for one in late.kernels():
        grid = (one.get("args") or {}).get("grid")
        if grid:
            grid[0] = -(-grid[0] * 3 // 2)
    for one in late.timeline.events:
        args = one.get("args") or {}
        for dims in args.get("Input Dims") or ():
            if isinstance(dims, list) and len(dims) > 1 and isinstance(dims[0], int):
                dims[0] = -(-dims[0] * 3 // 2)
    cost = job.delay(_CULPRIT, inserts)
    # Work that is spread evenly is the mean of all, not the least.
    return Truth(("CLU004",), (_CULPRIT,), cost * (len(job.ranks) - 1) // len(job.ranks), _CULPRIT)


def slow_loader(job: Replicas) -> Truth:
    """One rank waits for its batch in each step, a fifth of the step."""
    late = job.ranks[_CULPRIT]
    length = sum(end - start for start, end in late.steps) // len(late.steps)
    thread = late.main_thread()
    moments = [_quiet(late, start, start + (end - start) // 5) for start, end in late.steps]
    inserts = [(at, at + 1, length // 5) for at in moments]
    cost = job.delay(_CULPRIT, inserts)
    for number, at in enumerate(moments):
        name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        late.add(thread, name, at + number * (length // 5), length // 5, cat="user_annotation", args={})
    return Truth(("CLU004",), (_CULPRIT,), cost, _CULPRIT)


def _quiet(trace: PlantedTrace, first: int, last: int) -> int:
    """The middle of the longest stretch in which neither a device nor an operator of the host is busy."""
    busy = [(one["ts"], one["ts"] + one["dur"]) for one in trace.work() if first <= one["ts"] < last]
    busy += [
        (one["ts"], one["ts"] + one["dur"])
        for one in trace.host(lambda one: category(one) in ("cpu_op", "cuda_runtime"))
        if first <= one["ts"] < last
    ]
    ends, gaps = first, list[tuple[int, int]]()
    for start, stop in sorted(busy):
        gaps.append((start - ends, (start + ends) // 2))
        ends = max(ends, stop)
    return max(gaps)[1]


def slow_host(job: Replicas) -> Truth:
    """One rank's host stands still ten times a step, a fifth of it in all, where the others' goes on."""
    late = job.ranks[_CULPRIT]
    inserts = list[Insert]()
    for start, end in late.steps:
        gaps = late.boundaries(start, end, 10)
        inserts += [(at, at + 1, (end - start) // 5 // len(gaps)) for at in gaps]
    inserts = _outside(inserts, late)
    cost = job.delay(_CULPRIT, inserts)
    return Truth(("CLU009", "CLU003"), (_CULPRIT,), cost, _CULPRIT)


def slow_link(job: Replicas) -> Truth:
    """Pairs of ranks reduce together; those of one pair take three times as long, which only they notice."""
    regroup(job, 2)
    slow = (_CULPRIT, _CULPRIT + 1)
    cost = 0
    for rank in slow:
        trace = job.ranks[rank]
        # Groups are compared by collectives of which group and size are recorded, from 1 MiB on.
        told = [one for one in collectives(trace) if _bytes(one) >= 1 << 20]
        inserts = [(one["ts"], one["ts"] + one["dur"], 2 * one["dur"]) for one in told]
        cost = sum(extra for start, _, extra in inserts if trace.inside(start)) // len(trace.steps)
        trace.insert(inserts)
    return Truth(("CLU002",), slow, cost)


def _bytes(collective: Event) -> int:
    args = collective.get("args") or {}
    return 4 * int(args.get("In msg nelems", 0)) if "Process Group Name" in args else 0


def missing_other(job: Replicas) -> Truth:
    """A slow device, and the recording of another rank is missing."""
    return Truth(*_fields(slow_device(job)), says="ranks-missing")


def missing_culprit(job: Replicas) -> Truth:
    """A slow device, and its recording is missing: nobody at hand is late."""
    slow_device(job)
    return Truth(says="ranks-missing")


def broken_file(job: Replicas) -> Truth:
    """A slow device, and the file of another rank ends in the middle."""
    return slow_device(job)


def clocks(job: Replicas) -> Truth:
    """A slow device, and each rank's clock is 7 ms further ahead."""
    found = slow_device(job)
    for rank, trace in enumerate(job.ranks):
        for event in trace.timeline.timed:
            event["ts"] += 7_000_000 * rank
    return found


def clocks_alone(job: Replicas) -> Truth:
    """Nothing but clocks that differ."""
    for rank, trace in enumerate(job.ranks):
        for event in trace.timeline.timed:
            event["ts"] += 7_000_000 * rank
    return Truth()


PLANTS: Final[Mapping[str, Callable[[Replicas], Truth]]] = {
    "nothing": nothing, "clocks differ": clocks_alone, "slow device": slow_device,
    "slow device, clocks differ": clocks, "more work": more_work, "slow loader": slow_loader, "slow host": slow_host,
    "slow link": slow_link, "slow device, a rank missing": missing_other,
    "slow device, its recording missing": missing_culprit, "slow device, a broken file": broken_file,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What is said of a job: whether the rank, the reason and the price are right, and table and findings agree."""

    rank: bool
    reason: bool
    price: bool
    agree: bool
    said: str


def main() -> None:
    """Print a row for each job; exit with 1 where one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.recorded", description=__doc__)
    parser.add_argument("--folder", type=Path, default=LABELLED, help="folder with the recordings")
    parser.add_argument("--ranks", type=int, default=6)
    parser.add_argument("--only", default="", help="only recordings whose path contains this")
    parser.add_argument("--plant", default="", help="only plants whose name contains one of these, with commas")
    parser.add_argument("--keep", type=Path, help="write the jobs here, and keep them")
    options = parser.parse_args()
    wrong = 0
    print("| recording | planted | rank | reason | price | table and findings agree | said |\n" + "|---" * 7 + "|")
    for name in (one for one in RECORDINGS if options.only in one):
        source = PlantedTrace(options.folder / name)
        for kind, plant in PLANTS.items():
            if any(part in kind for part in options.plant.split(",")):
                with tempfile.TemporaryDirectory() as folder:
                    place = (options.keep or Path(folder)) / f"{name.split('/')[1]}, {kind}"
                    row = judged(*planted(source, _number(options.ranks, plant), plant, place))
                marks = " | ".join("ok" if one else "WRONG" for one in (row.rank, row.reason, row.price, row.agree))
                wrong += not (row.rank and row.reason and row.price and row.agree)
                print(f"| {name.split('/')[1]} | {kind} | {marks} | {row.said} |", flush=True)
    raise SystemExit(bool(wrong))


def _number(ranks: int, plant: Callable[[Replicas], Truth]) -> int:
    """How many ranks: of three pairs one can be told to be slow."""
    return max(ranks, 6) if plant is slow_link else ranks


def planted(source: PlantedTrace, ranks: int, plant: Callable[[Replicas], Truth], place: Path) -> tuple[Truth, Report]:
    """Make a job, plant something, write it, and analyse it."""
    job = Replicas(source.copy(), ranks)
    truth = plant(job)
    folder = job.save(place / "job")
    if plant is missing_other:
        (folder / "rank3.pt.trace.json").unlink()
    if plant is missing_culprit:
        (folder / f"rank{_CULPRIT}.pt.trace.json").unlink()
    if plant is broken_file:
        path = folder / "rank3.pt.trace.json"
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with open_trace(folder, Options(store=place / "store", workers=here)) as trace:
        asked = ReportOptions(page=True, rules=Settings())
        return truth, build_report(trace, asked)


def judged(truth: Truth, report: Report) -> Row:
    """Compare what is said with the truth."""
    shown = report.diagnosis.shown if report.diagnosis is not None else ()
    slow = [row for row in report.rows("slow_ranks") if row["slow"]]
    table, named = {row["rank"] for row in slow}, {rank for one in shown for rank in one.late}
    cluster = [one for one in shown if one.family == "cluster" and (one.late or one.code == "CLU002")]
    said = "; ".join(f"{one.code} {one.title}, ranks {one.evidence.ranks[:3]}, {_ms(one.cost_ns)}" for one in cluster)
    said = (said or "nobody named") + f" (planted {_ms(truth.cost_ns)})" * bool(truth.codes)
    codes = [line.code for line in report.health]
    heard = not truth.says or truth.says in codes
    if not truth.codes:
        return Row(not cluster and not table and heard, True, True, table == named, said)
    first = next((one for one in cluster if one.code in truth.codes), None)
    right = first is not None and set(truth.ranks) <= set(first.evidence.ranks[: len(truth.ranks)])
    right = right and (truth.late is None or (table == {truth.late} and named == {truth.late})) and heard
    priced = first is not None and abs((first.cost_ns or 0) - truth.cost_ns) <= _OFF * truth.cost_ns
    return Row(right, first is not None and cluster[0] is first, priced, table == named, said)


def _ms(ns: int | None) -> str:
    return "no price" if ns is None else f"{ns / 1e6:.2f} ms"


def _fields(truth: Truth) -> Iterator[object]:
    return iter((truth.codes, truth.ranks, truth.cost_ns, truth.late))


def _outside(inserts: list[Insert], trace: PlantedTrace) -> list[Insert]:
    """Those that lie in no collective."""
    busy = [(one["ts"], one["ts"] + one["dur"]) for one in collectives(trace)]
    return [one for one in inserts if not any(start <= one[0] < stop for start, stop in busy)]


if __name__ == "__main__":
    main()
