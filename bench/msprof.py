"""`python -m bench.msprof`: `stepscope` beside `msprof-analyze`: comparing two recordings of NPUs, and reading a job's.

Comparing, both write a workbook with the same sheets. Of a job, `msprof-analyze cluster -m all` writes the times of
steps, collectives and links; `stepscope export --to ascend-cluster` writes the same tables, and `stepscope analyze` a
report as JSON with those, all its other tables and its findings. stepscope is measured twice: reading the recordings
anew, and with all of them read before. Each time is given twice: of the processor, all processes together, and of the
clock, which depends on what else the machine does; runs alternate, and the median of each counts.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.environments import environment
from bench.inputs import OUT
from bench.measure import Measured, measure

_PACKAGE: Final = "msprof-analyze==26.2.0"
_SHARED: Final = Path(__file__).resolve().parents[2] / "shared" / "traces" / "ascend" / "alexnet_ddp_level1_text"
_OURS: Final = (sys.executable, "-m", "stepscope")
#: The simulated job that is read as a whole.
_RANKS: Final = 8
_RANK_MB: Final = 10
_TABLES: Final = OUT / "cluster"
#: Columns of the table, in order.
_TOOLS: Final = ("msprof-analyze", "stepscope, read anew", "stepscope, read before")


def main() -> None:
    """Measure both and print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m bench.msprof", description=__doc__)
    parser.add_argument("--size-mb", type=int, nargs="+", default=[30, 200], help="sizes of simulated recordings")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, of which the median counts")
    options = parser.parse_args()
    program = environment("msprof", _PACKAGE) / "msprof-analyze"
    print(f"| recordings | {' | '.join(_TOOLS)} | memory |\n|---|---|---|---|---|")
    pairs = (("recorded, 3 MB each", recorded()), *(
        (f"simulated, {size} MB each", simulated(size, 2)) for size in options.size_mb))  # fmt: skip
    for name, sides in pairs:
        if sides:
            print(f"| compare, {name} | {row(*comparing(program, sides), options.runs)} |", flush=True)
    for name, ranks in (("recorded, 2 ranks", recorded()), (f"simulated, {_RANKS} ranks of {_RANK_MB} MB",
                                                            simulated(_RANK_MB, _RANKS))):  # fmt: skip
        for kind, ours in (("tables", tables), ("report", report)) if ranks else ():
            commands = cluster(program, ranks[0].parent), ours(ranks[0].parent)
            print(f"| cluster {kind}, {name} | {row(*commands, options.runs)} |", flush=True)


def recorded() -> list[Path]:
    """Two ranks of a recorded job; none without the shared recordings."""
    return sorted(_SHARED.glob("*_ascend_pt"))


def simulated(megabytes: int, ranks: int) -> list[Path]:
    """The ranks of a simulated job, each of about this size."""
    folder = OUT / f"ascend-{megabytes}-{ranks}"
    if not folder.exists():
        OUT.mkdir(exist_ok=True)
        options = ["--preset", "transformer", "--format", "ascend", "--ranks", str(ranks)]
        size = ["--size-mb", str(megabytes)]
        command = [sys.executable, "-m", "stepscope", "simulate", *options, *size, "--out", str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.glob("*_ascend_pt"))


def comparing(program: Path, sides: Sequence[Path]) -> tuple[list[str], list[str]]:
    """The commands that compare two ranks: of msprof-analyze, and of stepscope with what was read before."""
    base, new = map(str, sides)
    return (
        [str(program), "compare", "-bp", base, "-d", new, "-o", str(OUT / "msprof-results")],
        [*_OURS, "compare", base, new, "--no-findings", "--xlsx", str(OUT / "compare.xlsx")],
    )


def cluster(program: Path, folder: Path) -> list[str]:
    """The command of msprof-analyze that reads all ranks of a job."""
    return [str(program), "cluster", "-m", "all", "-d", str(folder), "-o", str(OUT / "msprof-results")]


def tables(folder: Path) -> list[str]:
    """The command that writes the same tables, with what was read before."""
    return [*_OURS, "export", str(folder), "--to", "ascend-cluster", "-o", str(_TABLES)]


def report(folder: Path) -> list[str]:
    """The command that writes a report, with what was read before."""
    return [*_OURS, "analyze", str(folder), "--json", str(OUT / "cluster.json")]


def row(theirs: list[str], ours: list[str], runs: int) -> str:
    """Time of the processor, time of the clock and memory of each tool, as cells of a table."""
    ours = [*ours, "--store", str(OUT / "compared")]
    commands = (theirs, [*ours, "--no-cache"], ours)
    _measured(ours)
    seconds: list[list[tuple[float, float]]] = [[] for _ in commands]
    peaks = [0.0] * len(commands)
    for _ in range(runs):
        for i, command in enumerate(commands):
            before = _children()
            measured = _measured(command)
            peaks[i] = max(peaks[i], measured.peak_mb)
            seconds[i].append((_children() - before, measured.seconds))
    medians = [[statistics.median(one) for one in zip(*each, strict=True)] for each in seconds]
    cells = [
        f"{processor:.1f} s, {clock:.1f} s" + (_times(medians[0], processor, clock) if i else "")
        for i, (processor, clock) in enumerate(medians)
    ]
    return " | ".join([*cells, ", ".join(f"{peak:.0f}" for peak in peaks) + " MB"])


def _times(others: Sequence[float], processor: float, clock: float) -> str:
    return f" ({others[0] / processor:.1f} and {others[1] / clock:.1f} times as fast)"


def _measured(command: Sequence[str]) -> Measured:
    shutil.rmtree(_TABLES, ignore_errors=True)  # a folder that is there already is not written into
    return measure(command)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
