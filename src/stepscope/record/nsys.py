"""Run a program under Nsight Systems, which records the chosen steps, and export what it wrote."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.job.windows import MOST
from stepscope.record.settings import RecordSettings

#: Options of `nsys profile`. Children of a launcher such as torchrun are traced before they execute Python; kernels in
#: CUDA graphs one by one, since computation and communication in a graph can't be distinguished otherwise.
_OPTIONS: Final = (
    "--trace=cuda,nvtx,osrt,cudnn,cublas",
    "--trace-fork-before-exec=true",
    "--cuda-graph-trace=node",
    "--sample=none",
    "--backtrace=none",
    "--cpuctxsw=none",
    "--capture-range=cudaProfilerApi",
)
_REPORT: Final = "nsys"


def profiled(program: Sequence[str], settings: RecordSettings, options: Sequence[str]) -> list[str]:
    """The command that runs a program under `nsys profile`.

    Args:
        program: The program and its arguments.
        settings: What to record.
        options: More options of `nsys profile`, each as `--name=value`; one given here counts instead of ours.

    Raises:
        UserError: There is no `nsys`, or an option is none.
    """
    nsys = shutil.which("nsys")
    if nsys is None:
        raise UserError(
            "--with nsys needs Nsight Systems, and there is no `nsys` on the PATH",
            hint="install it, or leave --with out to record with torch.profiler",
        )
    for one in options:
        if not one.startswith("--"):
            raise UserError(
                said("--nsys-option {one} is no option of nsys", one=one), hint="give --nsys-option=--name=value"
            )
    given = {one.split("=", 1)[0] for one in options}
    several = bool(settings.every or settings.requests or settings.slow)
    ours = [
        *_OPTIONS,
        f"--capture-range-end={f'repeat:{MOST}' if several else 'stop'}",
        f"--output={Path(settings.output) / _REPORT}",
    ]
    kept = [one for one in ours if one.split("=", 1)[0] not in given]
    Path(settings.output).mkdir(parents=True, exist_ok=True)
    return [nsys, "profile", *kept, *options, *program]


def export(folder: Path) -> list[str]:
    """Export each report in a folder to SQLite, with the payloads of NCCL's ranges.

    Returns:
        What went wrong, a sentence each, without a full stop.
    """
    problems: list[str] = []
    reports = sorted(folder.glob("*.nsys-rep"))
    if not reports:
        problems.append(said("nsys wrote no report: the recorded steps were not reached, or nsys was stopped"))
    for report in reports:
        target = report.with_suffix(".sqlite")
        command = ["nsys", "export", "--type=sqlite", "--include-json=true", "--force-overwrite=true"]
        done = subprocess.run([*command, f"--output={target}", str(report)], capture_output=True, text=True)
        if done.returncode != 0 or not target.is_file():
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            says = repr(lines[-1][:200]) if lines else said("nothing")
            problems.append(said("{report} was not exported: nsys says {says}", report=report, says=says))
    return problems
