"""``stepscope simulate``: write the recording of a simulated job, with the ground truth about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.language import said

if TYPE_CHECKING:
    from stepscope.simulate.job import SimJob

Preset = Annotated[
    str, typer.Option(metavar="NAME", help="Job to start from; `list` names them, and formats, faults, defects.")
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="PATH", help="File, or folder for several ranks.")]
Format = Annotated[str, typer.Option(metavar="NAME", help="Format of the recording.")]
Ranks = Annotated[int | None, typer.Option(min=1, metavar="N", help="Data-parallel ranks.")]
Steps = Annotated[int | None, typer.Option(min=1, metavar="N", help="Recorded steps.")]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed of the job and of its noise.")]
SizeMb = Annotated[
    int | None, typer.Option(min=1, metavar="MB", help="Record as many steps as fill this many MB per rank.")
]
FaultNames = Annotated[
    list[str] | None, typer.Option("--fault", metavar="NAME", help="Fault to inject; may be repeated.")
]
DefectNames = Annotated[
    list[str] | None, typer.Option("--defect", metavar="NAME", help="Damage to do to each file; once.")
]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any parameter of the job.")]


def simulate(
    out: Out = Path("simulated"),
    preset: Preset = "tiny",
    format: Format = "kineto",
    ranks: Ranks = None,
    steps: Steps = None,
    seed: Seed = None,
    size_mb: SizeMb = None,
    fault: FaultNames = None,
    defect: DefectNames = None,
    set_: Settings = None,
) -> None:
    """Simulate a training job and write its recording, with the ground truth beside it."""
    from stepscope.simulate import DEFECTS, FAULTS, PRESETS, WRITERS
    from stepscope.simulate import simulate as run
    from stepscope.simulate.settings import with_settings
    from stepscope.simulate.sizing import size_of, steps_for

    if preset == "list":
        _list(presets=tuple(PRESETS), formats=tuple(WRITERS), faults=tuple(FAULTS), defects=tuple(DEFECTS))
        return
    _known("preset", [preset], tuple(PRESETS))
    _known("format", [format], tuple(WRITERS))
    _known("defect", defect or [], tuple(DEFECTS) if WRITERS[format].text else ())
    job = with_settings(_basic(_fitting(PRESETS[preset], format), ranks, steps, seed), set_ or [])
    faults = tuple(fault or [])
    if size_mb is not None:
        job = with_settings(job, [f"steps={steps_for(job, size_mb * 1_000_000, format)}"])
    paths = run(job, out, format, faults=faults)
    for name in defect or []:
        for path in paths:
            typer.echo(f"{path}: {_damage(path, name)}")
    for path in paths:
        typer.echo(f"{path} {size_of(path)}")


def _fitting(job: SimJob, format: str) -> SimJob:
    """The job on a device whose work the format can hold."""
    from dataclasses import replace

    from stepscope.simulate import WRITERS
    from stepscope.simulate.devices import DEVICES

    chosen = WRITERS[format]
    return job if DEVICES[job.device].vendor in chosen.vendors else replace(job, device=chosen.device)


def _basic(job: SimJob, ranks: int | None, steps: int | None, seed: int | None) -> SimJob:
    from dataclasses import replace

    job = replace(job, ranks=job.ranks if ranks is None else ranks, steps=job.steps if steps is None else steps)
    return job if seed is None else replace(job, seed=seed, noise_seed=seed)


def _known(what: str, names: list[str], choices: tuple[str, ...]) -> None:
    from stepscope.model.errors import UserError
    from stepscope.model.suggest import choose

    for name in names:
        if what == "defect" and not choices:
            raise UserError("only a text format can be damaged", hint="give --defect with --format kineto")
        if name not in choices:
            raise UserError(said("no {what} is called {name!r}", what=what, name=name), hint=choose(name, choices))
    if what == "defect" and len(names) > 1:
        raise UserError("only one --defect can be given", hint="damaged text can't be damaged again")


def _damage(path: Path, name: str) -> str:
    import gzip

    from stepscope.simulate.defects import DEFECTS

    packed = path.suffix == ".gz"
    data = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
    damaged = DEFECTS[name](data)
    path.write_bytes(gzip.compress(damaged.data, mtime=0) if packed else damaged.data)
    return said(
        "{readable} of {total} events remain readable; {note}",
        readable=damaged.readable,
        total=damaged.total,
        note=damaged.note,
    )


def _list(**groups: tuple[str, ...]) -> None:
    for group, names in groups.items():
        typer.echo(f"{group}: {', '.join(names)}")
