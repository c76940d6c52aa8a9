"""The sums of one rank from its small files: `step_trace_time.csv`, `communication*.json`, `analysis.db`, kernels.

What reading the rank as a whole would take from them is the same, but for durations of kernels: these are as the table
has them, not the timeline. A file that is not whole is left to reading the rank as a whole, which mends it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from stepscope.model.recording import Recording
from stepscope.model.sums.kernels import KernelKey, RunDurations
from stepscope.model.sums.rank import Glance, RankSummaries, SumRow
from stepscope.readers.ascend import files
from stepscope.readers.ascend.csvfile import cell_text
from stepscope.readers.ascend.gathered import RankMetadata
from stepscope.readers.ascend.info import attributes, collection_window, framework, groups_in, world_size
from stepscope.readers.ascend.inputs import NAME
from stepscope.readers.ascend.sum_rows import communication_rows, matrix_rows
from stepscope.readers.ascend.summary.device import device_in
from stepscope.readers.ascend.summary.kernels import kernels_in
from stepscope.readers.ascend.summary.plain_csv import BrokenFileError, number, rows
from stepscope.readers.protocol import Source

_STEP = "Step"
#: Columns of `step_trace_time.csv` that are no times.
_KEYS = frozenset({"step", "device_id", "device id"})


def glance(source: Source) -> Glance | None:
    """Whose recording it is and when it was made; None if no small file tells."""
    if not source.path.is_dir() or source.member:
        return None
    result = files.find(source.path)
    if result.rank is None:
        return None
    # The host, which tells recordings of equal rank apart, is in a database alone.
    between = None if result.database else collection_window(result.info)
    return Glance(_recording(source, result, result.metadata, None), between)


def summaries(source: Source) -> RankSummaries:
    """The sums of one rank.

    Raises:
        BrokenFileError: A file that they come from is not whole.
    """
    result = files.find(source.path)
    if result.unreadable or result.emptied:
        raise BrokenFileError(Path(next(iter([*result.unreadable, *result.emptied]))), "can't be read")
    sums: list[SumRow] = []
    kernels: dict[KernelKey, RunDurations] = {}
    stepless, host, metadata = False, None, result.metadata
    if result.trace or not result.database:
        sums = _text_sums(result)
        kernels, stepless = kernels_in(result.tables.get("kernel_details", ()), lambda: _device(result))
    else:
        kernels, found = _of_database(result.database)
        stepless, host, metadata = True, found.host, {**found.metadata, **result.metadata}
    if result.analysis:
        sums += _analysis_sums(result.analysis, {source for source, *_ in sums})
    groups = {name: tuple(ranks) for name, (_, ranks) in groups_in(metadata).items() if len(ranks) > 1}
    return RankSummaries(_recording(source, result, metadata, host), sums, groups, kernels, stepless)


def _recording(source: Source, result: files.Result, metadata: dict[str, Any], host: str | None) -> Recording:
    return Recording(
        source=str(source),
        reader=NAME,
        rank=result.rank,
        world_size=world_size(metadata),
        host=host,
        attributes={**attributes(result.info, metadata), **framework(result)},
    )


def _device(result: files.Result) -> int | None:
    return 0 if result.trace is None else device_in(result.trace.path)


def _text_sums(result: files.Result) -> list[SumRow]:
    sums: list[SumRow] = []
    for path in result.tables.get("step_trace_time", ()):
        sums += _step_rows(path)
    if "communication" in result.summaries:
        sums += communication_rows(_object(result.summaries["communication"]))[0]
    if "communication_matrix" in result.summaries:
        sums += matrix_rows(_object(result.summaries["communication_matrix"]))
    return sums


def _step_rows(path: Path) -> list[SumRow]:
    """Column by column, as they are stored."""
    table = rows(path)
    header = next(table)
    cells = list(table)
    at = header.index(_STEP) if _STEP in header else None
    steps = [None if at is None else cell_text(row[at]) for row in cells]
    return [
        ("steps", step, "", name, value)
        for place, name in enumerate(header)
        if name.lower() not in _KEYS
        for step, row in zip(steps, cells, strict=True)
        if (value := number(row[place])) is not None
    ]


def _object(path: Path) -> dict[str, Any]:
    value = files.read_json(path)
    if value is None:
        raise BrokenFileError(path, files.why_unread(path).removeprefix(f"{path.name} "))
    return value


def _analysis_sums(path: Path, kept: set[str]) -> list[SumRow]:
    from stepscope.readers.ascend.database.analysis import analysis_rows
    from stepscope.readers.ascend.database.tables import AscendDatabase

    with closing(AscendDatabase(path)) as database:
        sums, _ = analysis_rows(database, kept)
        if not database.is_whole:
            raise BrokenFileError(path, "is damaged")
    return sums


def _of_database(path: Path) -> tuple[dict[KernelKey, RunDurations], RankMetadata]:
    """Kernels, host and metadata of a rank's database."""
    from stepscope.readers.ascend.database.export import host_of, metadata_of
    from stepscope.readers.ascend.database.kernel_runs import kernels_in as kernels_of_database
    from stepscope.readers.ascend.database.tables import AscendDatabase

    with closing(AscendDatabase(path)) as database:
        kernels = kernels_of_database(database)
        found = RankMetadata(host=host_of(database), metadata=metadata_of(database))
    if kernels is None:
        raise BrokenFileError(path, "is damaged or large")
    return kernels, found
