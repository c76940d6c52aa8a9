"""`python -m bench.cluster`: is the rank or link that slows a simulated job down named first? As in docs/cluster.md."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from bench.cluster.planted import KINDS, Planted, planted
from bench.cluster.verdict import Verdict, verdict


def main() -> None:
    """Print a row for each kind, then what went wrong; exit with 1 if a figure is below 95 %."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=20, help="jobs of each kind")
    parser.add_argument("--first", type=int, default=0, help="seed of the first job")
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.runs)
    jobs = [one for make in KINDS for seed in seeds if options.only in (one := planted(make, options.ranks, seed)).kind]
    print(f"| planted, {options.ranks} ranks | runs | named first | in the table |\n|---|---|---|---|", flush=True)
    verdicts: list[Verdict] = []
    for kind in dict.fromkeys(one.kind for one in jobs):
        found = list(_each([one for one in jobs if one.kind == kind], options.processes))
        verdicts += found
        print(_row(kind, found), flush=True)
    for one in verdicts:
        if not one.first or one.table is False:
            print(f"{one.planted.kind}, seed {one.planted.job.noise_seed}, ranks {one.planted.ranks}: {one.said}")
    if any(sum(one.first for one in verdicts if one.planted.kind == kind) < 0.95 * options.runs for kind in
           {one.planted.kind for one in verdicts}):  # fmt: skip
        raise SystemExit(1)


def _each(jobs: list[Planted], processes: int) -> Iterable[Verdict]:
    if processes < 2:
        return map(verdict, jobs)
    with ProcessPoolExecutor(processes) as executor:
        return list(executor.map(verdict, jobs))


def _row(kind: str, found: list[Verdict]) -> str:
    tables = [one.table for one in found if one.table is not None]
    table = f"{sum(tables)} of {len(tables)}" if tables else "–"
    return f"| {kind} | {len(found)} | {sum(one.first for one in found)} | {table} |"


if __name__ == "__main__":
    main()
