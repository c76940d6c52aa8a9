"""``stepscope parse-ascend``: have torch_npu parse raw recordings of NPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder with recordings, `*_ascend_pt`.")]
Processes = Annotated[
    int | None,
    typer.Option("--processes", min=1, metavar="N", help="Parse so many at a time; half the cores if not given."),
]


def parse_ascend(folder: Folder, processes: Processes = None) -> None:
    """Parse raw recordings of the Ascend PyTorch Profiler, with the torch_npu that is installed.

    Recordings that were made with `analyse_flag=False`, or of a job that died, have no results before.
    """
    import os

    from stepscope.record.offline import parse

    cores = os.cpu_count() or 1
    count = parse(folder, min(processes or max(1, cores // 2), cores))
    typer.echo(f"stepscope: parsed {count} recordings in {folder}.", err=True)
