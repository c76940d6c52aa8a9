"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _given_path(text: str) -> Path:
    """A path as given; an empty one, as of an unset variable, would stand for the current folder."""
    if not text:
        raise typer.BadParameter("the path is empty")
    return Path(text)


PathList = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Recordings, or folders of them.", parser=_given_path)
]
OnePath = Annotated[Path, typer.Argument(metavar="PATH", help="A recording, or a folder of them.", parser=_given_path)]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Read the input again, and store nothing.")]
Store = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder for stored recordings.", parser=_given_path)
]
Steps = Annotated[
    list[int] | None,
    typer.Option("--step", metavar="N", help="Only this step, by its recorded number; may be repeated."),
]
Ranks = Annotated[list[int] | None, typer.Option("--rank", metavar="N", help="Only this rank; may be repeated.")]
Run = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="FOLDER", help="Of several runs, each with ranks of its own, this one, not the last."
    ),
]
Span = Annotated[
    int | None,
    typer.Option("--span", min=1, metavar="N", help="Of several recordings of each rank, this one in time order."),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="NAME", help="State the device, if the recording does not or is wrong."),
]
Memory = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="State the size of the device's memory, as in 64GiB.")
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        "--dask",
        metavar="ADDRESS",
        help="Read and analyse ranks by the workers of this scheduler of Dask; `local` starts some here.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="RULES", help="Only these rules: families, codes or their beginnings, names."),
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="RULES", help="Not these rules.")]
Thresholds = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="CODE.NAME=VALUE", help="Set a rule's threshold; may be repeated."),
]
