"""`python -m bench`: every figure of docs/benchmarks.md from one run, as ratios against what users have today.

HolisticTraceAnalysis is installed from PyPI into an environment of its own under `bench/out`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from pathlib import Path

from bench.environments import environment
from bench.inputs import OUT, real, simulated, small, stacks
from bench.measure import Measured, measure, warm

_HTA = "HolisticTraceAnalysis==0.5.0"


def main() -> None:
    """Measure everything and print one Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--size-mb", type=int, default=400, help="size of the traces compared with HTA")
    parser.add_argument(
        "--large-mb", type=int, default=4060, help="size of the trace whose memory is measured; 0: none"
    )
    parser.add_argument(
        "--snapshot-mb", type=int, default=500, help="size of the memory snapshot that is opened; 0: none"
    )
    parser.add_argument("--nsight-mb", type=int, default=60, help="size of the export of Nsight that is read; 0: none")
    parser.add_argument("--runs", type=int, default=3, help="runs of stepscope, of which the median counts")
    parser.add_argument("--no-hta", action="store_true", help="measure stepscope alone")
    options = parser.parse_args()
    rows: list[tuple[str, str, str, str]] = []
    python = None if options.no_hta else environment("hta", _HTA) / "python"
    compared = (
        ("simulated", simulated(options.size_mb)),
        ("real, repeated", real(options.size_mb)),
        ("real with stacks, repeated", stacks(options.size_mb)),
    )
    for name, path in compared:
        if path is not None:
            rows += _against_hta(name, path, options.runs, python)
    for name, path in (("simulated", simulated(options.size_mb)), ("small, real", small())):
        if path is not None:
            rows.append(_rules(name, path))
    if options.large_mb:
        rows.append(_alone("trace", simulated(options.large_mb)))
    if options.snapshot_mb:
        rows.append(_alone("memory snapshot", simulated(options.snapshot_mb, "memsnapshot", "memory-churn")))
    if options.nsight_mb:
        rows.append(_alone("export of Nsight", simulated(options.nsight_mb, "nsight")))
    rows.append(_startup())
    print("| what | stepscope | HTA 0.5.0 | ratio |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def _against_hta(name: str, path: Path, runs: int, python: Path | None) -> list[tuple[str, str, str, str]]:
    size = path.stat().st_size / 1e6
    cold = [_analyze(path, fresh=True) for _ in range(runs)]
    seconds, cpu = (statistics.median(values) for values in ([r.seconds for r in cold], [r.cpu_seconds for r in cold]))
    memory = max(run.peak_mb for run in cold)
    cached = statistics.median(_open_cached(path) for _ in range(runs))
    again = statistics.median(_analyze(path, fresh=False).seconds for _ in range(runs))
    label = f"{name} trace, {size:.0f} MB"
    rows = [
        (f"{label}: open from the cache", f"{cached:.2f} s", "", ""),
        (f"{label}: analyze again, from the cache", f"{again:.2f} s", "", ""),
    ]
    if python is None:
        used = (f"{label}: processor time", f"{cpu:.2f} s", "", "")
        return [(f"{label}: analyze, cold", f"{seconds:.2f} s", "", ""), used, *rows]
    warm(path)
    theirs = measure([str(python), str(Path(__file__).with_name("hta_run.py")), str(path)])
    parts = json.loads(theirs.output.strip().splitlines()[-1])
    failed = [key for key, value in parts.items() if isinstance(value, str)]
    note = f" (failed: {', '.join(failed)})" if failed else ""
    return [
        (
            f"{label}: analyze, cold",
            f"{seconds:.2f} s",
            f"{theirs.seconds:.1f} s{note}",
            f"{theirs.seconds / seconds:.1f}",
        ),
        (
            f"{label}: processor time",
            f"{cpu:.2f} s",
            f"{theirs.cpu_seconds:.1f} s",
            f"{theirs.cpu_seconds / cpu:.1f}",
        ),
        (f"{label}: throughput", f"{size / seconds:.0f} MB/s", f"{size / theirs.seconds:.0f} MB/s", ""),
        (f"{label}: peak memory", f"{memory:.0f} MB", f"{theirs.peak_mb:.0f} MB", f"{theirs.peak_mb / memory:.1f}"),
        *rows,
    ]


def _alone(what: str, path: Path) -> tuple[str, str, str, str]:
    """One recording that nothing is compared with."""
    run = _analyze(path, fresh=True)
    size = path.stat().st_size / 1e6
    share = f" ({run.peak_mb / size:.2f} times its size)" if run.peak_mb > size else ""
    return (f"{what}, {size:.0f} MB: analyze, cold", f"{run.seconds:.1f} s, {run.peak_mb:.0f} MB peak{share}", "", "")


def _rules(name: str, path: Path) -> tuple[str, str, str, str]:
    """CPU time of all rules, without the analyses that the report makes anyway."""
    store = OUT / "cache"
    run = json.loads(measure([sys.executable, "-m", "bench.rules_run", str(path), str(store)]).output)
    return (f"{name} trace, {run['events']:,} events: all rules, CPU time", f"{run['seconds']:.2f} s", "", "")


def _analyze(path: Path, *, fresh: bool) -> Measured:
    cache, out = OUT / "cache", OUT / "report.json"
    if fresh:
        shutil.rmtree(cache, ignore_errors=True)
    warm(path)
    return measure([sys.executable, "-m", "stepscope", "analyze", str(path), "--store", str(cache), "--json", str(out)])


def _open_cached(path: Path) -> float:
    """Seconds from process start to an open trace that has answered a first query."""
    store = str(OUT / "cache")
    code = f"import stepscope; stepscope.open({str(path)!r}, store={store!r}).sql('SELECT count(*) FROM kernels')"
    return measure([sys.executable, "-c", code]).seconds


def _startup() -> tuple[str, str, str, str]:
    seconds = statistics.median(measure([sys.executable, "-m", "stepscope", "--version"]).seconds for _ in range(7))
    return ("start-up (`stepscope --version`)", f"{seconds * 1000:.0f} ms", "", "")


if __name__ == "__main__":
    main()
