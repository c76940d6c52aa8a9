"""Analyse traces that are alike in all but one size; the table of docs/performance.md, in processor time."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import Process
from pathlib import Path
from typing import Final

from bench.scaling.inputs import Size, write_table, write_trace

_DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "performance.md"
_START, _END = "<!-- scaling -->", "<!-- end of scaling -->"
_KERNELS: Final = 20_000
_USUAL: Final = Size(kernels=_KERNELS)


@dataclass(frozen=True, slots=True)
class Question:
    """What grows, and what writes an input of each size.

    Attributes:
        what: What is counted.
        sizes: Its numbers.
        write: Writes an input of a number to a path.
    """

    what: str
    sizes: tuple[int, ...]
    write: Callable[[int, Path], None]


def _trace(field: str, number: int, path: Path) -> None:
    write_trace(replace(_USUAL, **{field: number}), path)


def _steps(number: int, path: Path) -> None:
    write_trace(Size(kernels=number, steps=number), path)


QUESTIONS: Final = (
    Question("kernels (three events each)", (20_000, 40_000, 80_000), partial(_trace, "kernels")),
    Question("threads", (1, 100, 5_000), partial(_trace, "threads")),
    Question("streams", (1, 100, 2_000), partial(_trace, "streams")),
    Question("names", (20, 2_000, 20_000), partial(_trace, "names")),
    Question("steps", (4, 2_000, 20_000), partial(_trace, "steps")),
    Question("steps of one kernel each", (30_000, 100_000, 300_000), _steps),
    Question("characters of each of 20 names", (20, 4_000, 40_000), partial(_trace, "characters")),
    Question("columns of `kernel_details.csv`", (16, 600, 3_000), write_table),
)


def main() -> None:
    """Run all of it, or some questions."""
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("--only", help="how the name of what grows starts")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    table = "\n".join(_rows([one for one in QUESTIONS if one.what.startswith(options.only or "")]))
    if options.write:
        text = _DOCUMENT.read_text(encoding="utf-8")
        before, rest = text.split(_START)
        _DOCUMENT.write_text(f"{before}{_START}\n{table}\n{_END}{rest.split(_END)[1]}", encoding="utf-8")


def _rows(questions: list[Question]) -> Iterator[str]:
    for line in ("| what | number: processor time, memory | | |", "|---|---|---|---|"):
        print(line)
        yield line
    with tempfile.TemporaryDirectory(prefix="bench-scaling-") as folder:
        for done, question in enumerate(questions):
            cells = []
            for number in question.sizes:
                path = Path(folder) / f"{done}-{number}"
                _written(question, number, path)
                seconds, megabytes = _cost(path)
                cells.append(f"{number:,}: {seconds:.1f} s, {megabytes} MiB")
            line = f"| {question.what} | {' | '.join(cells)} |"
            print(line, flush=True)
            yield line


def _written(question: Question, number: int, path: Path) -> None:
    """Write an input in a process of its own: the most memory of one process counts for those that it starts, too."""
    process = Process(target=question.write, args=(number, path))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"{question.what}: {number} could not be written")


def _cost(path: Path) -> tuple[float, int]:
    """Processor time and the most memory of a report as a page and as JSON, nothing of it in a cache."""
    out = path.with_suffix(".out")
    command = [
        sys.executable,
        "-c",
        _CHILD,
        "analyze",
        str(path),
        "--no-cache",
        "--json",
        str(out),
        "--html",
        f"{out}.html",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    seconds, kilobytes = ended.stderr.rsplit("\n", 2)[-2].split()
    return float(seconds), int(kilobytes) >> 10


_CHILD: Final = """
import os, resource, sys
from stepscope.cli.main import run
status = run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


if __name__ == "__main__":
    main()
