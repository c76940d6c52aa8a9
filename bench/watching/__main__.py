"""What watching costs, and which of the steps that are made slow it catches.

python -m bench.watching cost --pairs 100 --python .venv-torch/bin/python
python -m bench.watching catch --plants 20 --python .venv-torch/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from stepscope.record.ring.reader import rings_in
from stepscope.record.triggers.keeping import recordings_in
from stepscope.record.triggers.request import REASON, WATCHED

PROGRAM = Path(__file__).with_name("program.py")
KINDS = ("mlp", "convolution", "transformer", "wide", "inference")


def run(python: str, folder: Path, *arguments: str, slow: float = 1.5) -> tuple[str, str]:
    """What a program that is watched prints, and what is said about its recording."""
    watch = [
        sys.executable,
        "-m",
        "stepscope",
        "record",
        "--watch",
        "--no-report",
        "-o",
        str(folder),
        "--slow",
        str(slow),
    ]
    command = [*watch, "--", python, str(PROGRAM), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout, done.stderr


def interval(values: list[float]) -> tuple[float, float]:
    """Of the median, at 95 %, by drawing from the values."""
    draw = random.Random(0)
    medians = sorted(median(draw.choices(values, k=len(values))) for _ in range(1000))
    return medians[25], medians[-26]


def cost(python: str, pairs: int, kinds: list[str]) -> None:
    """Print the median difference of neighbouring blocks per step, and with it what is done a few times a second."""
    print("| program | step | pairs | hooks per step | 95 % | a few times a second | together |")
    print("|---|---|---|---|---|---|---|")
    for kind in kinds:
        with tempfile.TemporaryDirectory() as place:
            # A step that ends behind a block without hooks seems as long as all of it.
            printed, _ = run(python, Path(place) / "out", kind, str(pairs), "-1", "0", slow=1e6)
        found: dict[str, Any] = json.loads(printed)
        more = [(one - other) / 1e3 for one, other in zip(found["with"], found["without"], strict=True)]
        step, share, (low, high) = median(found["without"]) / 1e3, 100 * found["share"], interval(more)
        whole, least, most = (share + 100 * one / step for one in (median(more), low, high))
        cells = (kind, f"{step / 1e3:.2f} ms", str(len(more)), f"{median(more):+.1f} µs", f"{low:+.1f} to {high:+.1f}")
        print(
            f"| {' | '.join((*cells, f'{share:.2f} %', f'{whole:+.2f} % ({least:+.2f} to {most:+.2f})'))} |", flush=True
        )
    print(f"load {os.getloadavg()[0]:.1f}")


def catch(python: str, plants: int, steps: int, times: float, seed: int) -> None:
    draw = random.Random(seed)
    caught = 0
    for number in range(plants):
        kind, slow = KINDS[number % len(KINDS)], draw.randrange(30, steps - 10)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "out"
            run(python, folder, kind, str(steps), str(slow), str(times))
            reasons = [json.loads((one / REASON).read_text()) for one in recordings_in(folder)]
            [ring] = rings_in(folder / WATCHED)
            held = any(step.number == slow and step.recorded for step in ring.steps)
            told = [one["step"] for one in reasons]
            caught += slow in told or held
            print(
                f"{kind}: step {slow} of {steps}; recorded after {told}{'; in a recording' if held else ''}", flush=True
            )
    print(f"caught {caught} of {plants}; load {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("cost", "catch"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--plants", type=int, default=20)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--times", type=float, default=3.0, help="how many usual steps the slow one takes more")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.what == "cost":
        cost(given.python, given.pairs, given.kinds)
    else:
        catch(given.python, given.plants, given.steps, given.times, given.seed)


main()
