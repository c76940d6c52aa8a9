"""`python -m bench.diagnosis.real --python PYTHON`: plant causes in a real program, record it, and diagnose it.

PYTHON is one that has torch. The machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from stepscope.ingest import Options, open_trace
from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.engine import diagnose

PROGRAM = Path(__file__).with_name("program.py")
#: Codes of the rules that name each cause.
ANSWERS: dict[str, tuple[str, ...]] = {
    "too-few-workers": ("DAT001", "DAT004"),
    "no-workers": ("DAT001",),
    "logging": ("HST006",),
    "python-metrics": ("HST006",),
    "garbage-collection": ("HST005",),
    "optimizer-loop": ("HST008",),
    "unfused-attention": ("KRN008",),
    "unfused-activation": ("KRN010",),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis.real", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--keep", type=Path, help="keep the recordings in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stepscope-bench-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print("| planted cause | step | first findings | named first |\n|---|---|---|---|")
        for cause, codes in ({"healthy": ()} | ANSWERS).items():
            diagnosis = recorded(options.python, cause, folder)
            first = diagnosis.findings[0].code if diagnosis.shown else "-"
            listed = ", ".join(f"{f.code} {(f.cost_ns or 0) / 1e6:.1f} ms" for f in diagnosis.shown[:3]) or "none"
            right = first in codes if codes else not any(f.cost_ns for f in diagnosis.shown)
            print(f"| {cause} | {(diagnosis.step_ns or 0) / 1e6:.1f} ms | {listed} | {'yes' if right else 'no'} |")


def recorded(python: str, cause: str, folder: Path) -> Diagnosis:
    """Run the program with a cause planted, and diagnose its recording."""
    out = folder / f"{cause}.json"
    done = subprocess.run([python, str(PROGRAM), cause, str(out)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python} could not run {PROGRAM.name}: {done.stderr.strip().splitlines()[-1:]}")
    with open_trace(out, Options(cache=False)) as trace:
        return diagnose(trace, strict=True)


if __name__ == "__main__":
    main()
