"""What `stepscope try` says of ten programs, beside the programs' own clock with the change written in.

    python -m bench.trying [PROGRAM...] [--minutes N] [--python PYTHON] [--out FOLDER]

PYTHON has torch, and transformers for the Trainer. The independent timing alternates four runs of the program as it is
with four that have the change, each timed by the program's own clock; its gain is the median of the pairs' shares.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, Final

PROGRAMS: Final = Path(__file__).parent / "programs"
#: By program: the remedy that is written into it, and whether it is expected to help.
EXPECTED: Final = {
    "slow_loader": ("loader-workers", True), "heavy_collate": ("loader-workers", True),
    "unfused_optimizer": ("fused-optimizer", True), "eager_pointwise": ("compile", True),
    "many_threads": ("threads", True), "item_each_step": ("", False), "small_buckets": ("ddp-bucket-size", True),
    "accumulation": ("ddp-no-sync", True), "generation": ("compile", True), "trainer": ("loader-workers", True),
}  # fmt: skip
_RANKS: Final = ("small_buckets", "accumulation")
_PAIRS: Final = 4
_STEPS: Final = 60


def command(python: str, name: str) -> list[str]:
    """How a program is started."""
    file = str(PROGRAMS / f"{name}.py")
    if name in _RANKS:
        return [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", file]
    return [python, file]


def tried(python: str, name: str, minutes: float, folder: Path) -> dict[str, Any]:
    """What `stepscope try` says of a program."""
    line = [python, "-m", "stepscope", "try", "-o", str(folder / name), "--minutes", str(minutes), "--json", "-", "--"]
    done = subprocess.run([*line, *command(python, name)], cwd=PROGRAMS, stdout=subprocess.PIPE, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def step_ns(python: str, name: str, changed: bool) -> int:
    """Mean step of a program by its own clock."""
    line = [*command(python, name), "--steps", str(_STEPS), *(["--changed"] if changed else [])]
    out = subprocess.run(line, cwd=PROGRAMS, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return max(int(one) for one in re.findall(r"step_ns (\d+)", out.stdout))


def independent(python: str, name: str) -> list[float]:
    """Shares of the step that the change saves, by the program's own clock, a pair of runs each."""
    shares = []
    for number in range(_PAIRS):
        order = (False, True) if number % 2 == 0 else (True, False)
        times = {changed: step_ns(python, name, changed) for changed in order}
        said = ", ".join(f"{'changed' if changed else 'plain'} {times[changed] / 1e6:.1f} ms" for changed in order)
        print(f"{name}: {said}", file=sys.stderr, flush=True)
        shares.append(1 - times[True] / times[False])
    return shares


def row(name: str, found: dict[str, Any], own: list[float]) -> str:
    """A line of the table: shares of the step of all unchanged runs, and of those beside the remedy's."""
    remedy, expected = EXPECTED[name]
    base = found["base"]["step_ns"] or 0
    one = next((one for one in found["remedies"] if one["name"] == remedy), None)
    others = [f"{other['name']} {other['verdict']}" for other in found["remedies"] if other is not one]
    wrong = any(other["verdict"] == "helps" for other in found["remedies"]) and not expected

    def share(value: int | None, of: int | None) -> str:
        return f"{100 * value / of:.0f} %" if value is not None and of else "–"

    cells = [name, remedy or "none", f"{base / 1e6:.1f} ms"]
    if one is None:
        cells += ["–", "–", "–", "–", "not tried" if expected else "wrong" if wrong else "none helps"]
    else:
        beside = one["base_ns"]
        cells += [share(one["predicted_ns"], base), share(one["measured_ns"], beside)]
        cells += [f"{share(one['low_ns'], beside)} to {share(one['high_ns'], beside)}"]
        cells += [str(one["runs"]), one["verdict"]]
    cells += [f"{100 * median(own):.0f} % ({', '.join(f'{100 * share:.0f}' for share in sorted(own))})"]
    return f"| {' | '.join([*cells, ', '.join(others) or '–'])} |"


def main() -> None:
    """Print the table, a line per program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", default=list(EXPECTED))
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--python", default=".venv-torch/bin/python")
    parser.add_argument("--out", type=Path, default=Path("tried"))
    given = parser.parse_args()
    python = str(Path(given.python).absolute())
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", file=sys.stderr)
    heads = (
        "program",
        "remedy",
        "step",
        "predicted",
        "measured",
        "interval",
        "pairs",
        "verdict",
        "own clock",
        "others",
    )
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    for name in given.programs:
        found = tried(python, name, given.minutes, given.out.absolute())
        print(row(name, found, independent(python, name)), flush=True)


if __name__ == "__main__":
    main()
