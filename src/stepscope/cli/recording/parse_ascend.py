"""``stepscope parse-ascend``: have torch_npu or msprof parse raw recordings of NPUs."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from stepscope.language import said, told


class ExportChoice(str, Enum):
    """What parsing writes."""

    text = "text"
    db = "db"


Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder with recordings, `*_ascend_pt` or `PROF_*`, or one of them.")
]
Processes = Annotated[
    int | None,
    typer.Option("--processes", min=1, metavar="N", help="Parse so many at a time; half the cores if not given."),
]
Export = Annotated[
    list[ExportChoice] | None,
    typer.Option(
        "--export", metavar="text|db", help="What is written, may be repeated; as the recording asks for if not given."
    ),
]
Again = Annotated[bool, typer.Option("--again", help="Parse anew what has been parsed.")]


def parse_ascend(folder: Folder, processes: Processes = None, export: Export = None, again: Again = False) -> None:
    """Parse raw recordings of the Ascend PyTorch Profiler, with the torch_npu that is installed.

    Recordings that were made with `analyse_flag=False`, or of a job that died, have no results before. `PROF_*` that
    belong to no recording of torch_npu are parsed by CANN's msprof. What has been parsed is counted and left as it is.
    """
    import os

    from stepscope.model.errors import UserError
    from stepscope.record.offline import parse

    cores = os.cpu_count() or 1
    chosen = [one.value for one in export or ()]
    done = parse(folder, min(processes or max(1, cores // 2), cores), chosen, again=again)
    left = (
        said("; {before} had been parsed before (--again parses them anew)", before=len(done.before))
        if done.before
        else ""
    )
    typer.echo(
        told(
            said(
                "stepscope: parsed {parsed} recordings in {folder}{left}.",
                parsed=len(done.parsed),
                folder=folder,
                left=left,
            )
        ),
        err=True,
    )
    if done.failed:
        names = ", ".join(one.name for one in done.failed)
        raise UserError(
            said("{failed} recordings have no results: {names}", failed=len(done.failed), names=names),
            hint="see above what their parser said",
        )
