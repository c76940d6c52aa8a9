"""Simulate a job and write it."""

from __future__ import annotations

import glob
import json
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stepscope.language import listing, said
from stepscope.model.errors import UserError
from stepscope.model.process.leaving import before_leaving
from stepscope.model.suggest import choose
from stepscope.simulate.devices import DEVICES
from stepscope.simulate.engine.run import Simulation
from stepscope.simulate.faults import inject
from stepscope.simulate.job import SimJob
from stepscope.simulate.lens import Lens
from stepscope.simulate.settings import check
from stepscope.simulate.writers import WRITERS
from stepscope.simulate.writers.base import Writer
from stepscope.simulate.writers.formats import JobFormat, Targets


def simulate(job: SimJob, out: Path | str, format: str = "kineto", *, faults: tuple[str, ...] = ()) -> list[Path]:
    """Simulate ``job``; write its recording, and the truth about it next to the recording.

    Args:
        job: what to simulate.
        out: a file, with a suffix of the format, for a job of one rank; else a folder, which is made.
        format: key of ``WRITERS``.
        faults: names of faults to inject; see ``FAULTS``.

    Returns:
        The recording's files, one or more per rank in order of rank; the truth is not among them.

    Raises:
        UserError: a parameter, fault or format does not exist or is out of range, or ``out`` can't be written.
    """
    job = inject(job, faults)
    check(job)
    if format not in WRITERS:
        raise UserError(said("no format is called {format!r}", format=format), hint=choose(format, WRITERS))
    chosen = WRITERS[format]
    if DEVICES[job.device].vendor not in chosen.vendors:
        fitting = [key for key, device in DEVICES.items() if device.vendor in chosen.vendors]
        message = said("{format} can't hold what {device} does", format=format, device=job.device)
        raise UserError(message, hint=said("set device to {devices}", devices=listing(fitting, " or ")))
    if job.stages > 1 and not chosen.pipelines:
        raise UserError(
            said("{format} is not written for pipelines", format=format), hint="set stages=1 or choose kineto"
        )
    if (job.experts or job.inner_ranks) and not chosen.pipelines:
        raise UserError(
            said("{format} is written for one group of ranks", format=format),
            hint="set experts=false and inner_ranks=0, or choose kineto",
        )
    try:
        targets = chosen.targets(job, Path(out))
        with before_leaving(lambda: _remove_all_parts(targets)):
            return _written(job, chosen, targets, faults)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = said("{path} can't be written ({reason})", path=out, reason=reason)
        raise UserError(message, hint="choose another place with --out") from error


def _remove_all_parts(targets: Targets) -> None:
    for path in targets.ranks:
        _remove_parts(path)


def _written(job: SimJob, chosen: JobFormat, targets: Targets, faults: tuple[str, ...]) -> list[Path]:
    simulation = Simulation(job)
    writers: list[Writer] = []
    try:
        writers.extend(chosen.make(job, rank, path) for rank, path in enumerate(targets.ranks))
        lens = Lens(job)
        for rank, records in simulation.batches():
            writers[rank].write(lens.seen(records))
        counts = [writer.close() for writer in writers]
        document = truth_document(simulation, faults)
        for row, count in zip(document["ranks"], counts, strict=True):
            row["events"] = count
        targets.truth.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    except BaseException:
        for writer in writers:
            with suppress(OSError, sqlite3.Error):  # what is buffered can't be written either
                writer.abandon()
        _remove_all_parts(targets)
        raise
    return [path for writer in writers for path in writer.paths]


def _remove_parts(path: Path) -> None:
    """Remove files that a writer left unfinished or had not registered yet."""
    parts = [found for found in path.parent.glob(f"{glob.escape(path.name)}.*part") if found.name.endswith(".part")]
    for part in parts:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def truth_document(simulation: Simulation, faults: tuple[str, ...] = ()) -> dict[str, Any]:
    """The truth about a simulation, once its batches are exhausted."""
    ranks = simulation.truth()
    steps = [step for rank in ranks for step in rank["steps"]]
    totals = [step["tile"]["total_ns"] for step in [one for one in steps if one["typical"]] or steps]
    return {
        "schema": "stepscope.truth/1",
        "job": asdict(simulation.job),
        "faults": list(faults),
        "step_time_ns": sum(totals) // len(totals) if totals else 0,
        "ranks": ranks,
    }
