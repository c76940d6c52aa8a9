"""`python -m bench.cluster`: is the rank or link that slows a simulated job down named first? As in docs/cluster.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from bench.cluster.kept import Kept
from bench.cluster.planted import KINDS, Planted, planted
from bench.cluster.verdict import Verdict, of_tables, verdict

#: The least part of the runs of a kind that must be right.
_LEAST: Final = 0.95


def main() -> None:
    """Print a row for each kind, then what went wrong; exit with 1 if a figure is below 95 %."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=20, help="jobs of each kind")
    parser.add_argument("--first", type=int, default=0, help="seed of the first job")
    parser.add_argument("--only", default="", help="kinds whose name contains one of these, with commas")
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time")
    parser.add_argument("--read", type=int, default=0, help="ranks that are read, for all others too; 0 for all")
    parser.add_argument("--tables", action="store_true", help="tables alone: nothing is written or read")
    parser.add_argument("--keep", type=Path, help="a file that verdicts are added to; those it has are not made again")
    options = parser.parse_args()
    kept = Kept(options.keep, -1 if options.tables else options.read)
    judge = of_tables if options.tables else partial(verdict, read=options.read)
    seeds = range(options.first, options.first + options.runs)
    jobs = [planted(make, options.ranks, seed) for seed in seeds for make in KINDS]
    jobs = [one for one in jobs if any(part in one.kind for part in options.only.split(","))]
    if options.tables:
        jobs = [
            one for one in jobs if one.format == "kineto"
        ]  # transfers of an Ascend link are known to its files alone
    verdicts: list[Verdict] = []
    for one in _each(judge, [one for one in jobs if kept.of(one) is None], options.processes):
        kept.add(one)
        verdicts.append(one)
    verdicts += [known for one in jobs if (known := kept.of(one)) is not None]
    verdicts.sort(key=lambda one: jobs.index(one.planted))
    print(
        f"| planted, {options.ranks} ranks | runs | named first | in the table | same ranks |\n|---|---|---|---|---|",
        flush=True,
    )
    for kind in dict.fromkeys(one.kind for one in jobs):
        print(_row(kind, [one for one in verdicts if one.planted.kind == kind]), flush=True)
    for one in verdicts:
        if False in (one.first, one.table, one.same):
            print(f"{one.planted.kind}, seed {one.planted.job.noise_seed}, ranks {one.planted.ranks}: {one.said}")
    for kind in {one.planted.kind for one in verdicts}:
        told = [told for one in verdicts if one.planted.kind == kind if (told := _told(one)) is not None]
        if sum(told) < _LEAST * len(told) or any(one.same is False for one in verdicts):
            raise SystemExit(1)


def _told(one: Verdict) -> bool | None:
    return one.table if one.first is None else one.first


def _each(judge: Callable[[Planted], Verdict], jobs: list[Planted], processes: int) -> Iterator[Verdict]:
    if processes < 2:
        yield from map(judge, jobs)
        return
    with ProcessPoolExecutor(processes) as executor:
        yield from executor.map(judge, jobs)


def _row(kind: str, found: list[Verdict]) -> str:
    tables = [one.table for one in found if one.table is not None]
    table = f"{sum(tables)} of {len(tables)}" if tables else "–"
    first = [one.first for one in found if one.first is not None]
    same = [one.same for one in found if one.same is not None]
    agree = f"{sum(same)} of {len(same)}" if same else "–"
    return f"| {kind} | {len(found)} | {sum(first) if first else '–'} | {table} | {agree} |"


if __name__ == "__main__":
    main()
