"""Open a job for its profiler's own sums: without reading events, wherever that gives the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from stepscope.ingest.inputs import source_of
from stepscope.ingest.opening import open_trace
from stepscope.ingest.options import Options
from stepscope.ingest.recognise import recognise
from stepscope.ingest.whose.choice import choose
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.sums.rank import Glance, RankSummaries
from stepscope.model.trace import Trace
from stepscope.readers.protocol import Source, SummaryReader


@dataclass(frozen=True, slots=True)
class SummedJob:
    """The ranks of a job whose sums can be read alone.

    Attributes:
        ranks: Reader and recording of each rank, ascending.
        options: How to open a rank that has to be read as a whole.
        by_step: Whether kernels are asked for by step.
    """

    ranks: dict[int, tuple[SummaryReader, Source]]
    options: Options
    by_step: bool

    @contextmanager
    def rank(self, rank: int) -> Iterator[RankSummaries | Trace | None]:
        """The sums of one of `ranks`; its trace, said, where they are not whole; None, said, if it has nothing."""
        reader, source = self.ranks[rank]
        try:
            found = reader.summaries(source)
            why = (
                said("steps of kernels are in its events only")
                if self.by_step and found.stepless and found.kernels
                else ""
            )
        except (UnusableInputError, OSError) as error:
            why = error.message if isinstance(error, UnusableInputError) else f"{error.strerror or error}"
        if not why:
            yield found
            return
        self.options.say(said("rank {rank} is read as a whole ({why})", rank=rank, why=why))
        try:
            trace = open_trace(source.path, replace(self.options, run=None, span=None))
        except UnusableInputError as error:
            self.options.say(said("rank {rank} is left out ({message})", rank=rank, message=error.message))
            yield None
            return
        with trace:
            yield trace


def summed_job(paths: Sequence[Path], options: Options, by_step: bool = False) -> SummedJob | None:
    """The ranks of one run, with one span of each; None where that takes reading recordings as a whole.

    That is so where a recording's sums are not in files of their own, or small files do not tell its rank, or not the
    order of several recordings of a rank.

    Args:
        paths: Files and folders.
        options: How to open them; which run and span.
        by_step: Whether kernels are asked for by step.

    Raises:
        UserError: A path does not exist or holds no recording, or there is no such run or span.
    """
    found: list[FoundRecordings] = []
    readers: dict[Path, tuple[SummaryReader, Source]] = {}
    times: list[tuple[int, int] | None] = []
    for source, reader in recognise(paths, options.looking).sources:
        if source_of(reader.name).companion:
            continue
        one = reader.glance(source) if isinstance(reader, SummaryReader) else None
        if one is None or not isinstance(reader, SummaryReader):
            return None
        found.append(_found(one, source))
        times.append(one.between)
        readers[source.path] = (reader, source)
    ranks = {one.recording.rank for one in found}
    if not found or (len(ranks) < len(found) and None in times):
        return None
    chosen = choose(found, options.run, options.span)
    return SummedJob({rank: readers[group[0].path] for rank, group in chosen.ranks.items()}, options, by_step)


def _found(one: Glance, source: Source) -> FoundRecordings:
    recording = one.recording if one.between is None else replace(one.recording, origin_unix_ns=one.between[0])
    return FoundRecordings(recording, source.path, source.path, between=lambda: one.between)
