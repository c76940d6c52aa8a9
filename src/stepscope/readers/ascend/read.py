"""Read a rank's files into the staging area."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.recording import TELLS_ROUNDING, Recording
from stepscope.readers import content
from stepscope.readers.ascend import files
from stepscope.readers.ascend.gathered import RankMetadata, create
from stepscope.readers.ascend.hardware.chip import add_chip
from stepscope.readers.ascend.info import (
    add_groups,
    attributes,
    collection_end,
    framework,
    group_names,
    of_kernels,
    world_size,
)
from stepscope.readers.ascend.inputs import NAME
from stepscope.readers.ascend.kinds import summary_kind, table_kind
from stepscope.readers.ascend.link import link
from stepscope.readers.ascend.rest import take_rest
from stepscope.readers.ascend.stage import stage, stage_collectives
from stepscope.readers.ascend.sums import (
    gather_sums,
    observe_missing,
    sizes_in_matrix,
    sums_by_name,
    take_sums_for_events,
)
from stepscope.readers.ascend.tables.added import observe_added
from stepscope.readers.ascend.tables.limits import drop_impossible
from stepscope.readers.ascend.tables.link_rates import add_link_rates
from stepscope.readers.ascend.unpacked import unpacked
from stepscope.readers.protocol import Progress, Source
from stepscope.store.staging import Staging

#: Messages on unreadable files, by health code.
_DAMAGED: Final = ("input-damaged", "file-unreadable", "file-empty", "truncated", "events-lost", "events-untimed")


def read(source: Source, staging: Staging, progress: Progress) -> Recording:
    """Stage the rank's calls, tasks, collectives, memory and counters.

    Raises:
        UnusableInputError: None of its files can be used.
    """
    result = files.find(source.path) if source.path.is_dir() else _single(source, staging)
    create(staging)
    _observe_files(staging, result)
    found = _read_files(result, staging, progress)
    drop_impossible(staging)
    gather_sums(staging)
    add_link_rates(staging)
    events = staging.one("SELECT (SELECT count(*) FROM ascend_host) + (SELECT count(*) FROM ascend_device)")
    if events == (0,) and not (take_sums_for_events(staging, collection_end(result.info)) or take_rest(staging)):
        raise _nothing_in(source, staging, result)
    if events != (0,):
        observe_missing(staging)
    named = of_kernels(staging)
    link(staging)
    add_chip(staging, source.path if source.path.is_dir() else None)
    stage(staging)
    members = add_groups(staging, found.metadata)
    sizes = sizes_in_matrix(staging)
    stage_collectives(staging, group_names(found.operations, members), members, sums_by_name(staging), sizes)
    _observe(staging, result)
    observe_added(staging, found.metadata)
    return Recording(
        source=str(source),
        reader=NAME,
        rank=found.rank if result.rank is None else result.rank,
        world_size=world_size(found.metadata),
        host=found.host,
        attributes={
            **found.attributes,
            **attributes(result.info, found.metadata),
            **framework(result),
            **named,
            **_rounding(staging),
        },
    )  # fmt: skip


def _rounding(staging: Staging) -> dict[str, bool]:
    """What `TELLS_ROUNDING` says: databases before CANN 8.5 have no column for it, nor do traces alone."""
    [told] = staging.one("SELECT count(hf32) FROM ascend_device")
    return {} if told else {TELLS_ROUNDING: False}


def _read_files(result: files.Result, staging: Staging, progress: Progress) -> RankMetadata:
    """Gather the rank's files; of two exports of the same result the text one is used."""
    if result.trace or ((result.tables or result.summaries) and not result.database):
        from stepscope.readers.ascend.text import read_text

        found = RankMetadata(metadata=result.metadata, operations=read_text(result, staging, progress))
    elif result.database:
        from stepscope.readers.ascend.database.export import read_database

        found = read_database(result.database, staging, progress)
        found = replace(found, metadata={**found.metadata, **result.metadata})
    else:
        found = RankMetadata(metadata=result.metadata)
    if result.analysis:
        from stepscope.readers.ascend.database.export import read_analysis

        kept = {source for (source,) in staging.connection.execute("SELECT DISTINCT source FROM recorded").fetchall()}
        found = replace(found, operations={**read_analysis(result.analysis, staging, kept), **found.operations})
    return found


def _single(source: Source, staging: Staging) -> files.Result:
    """A result consisting of one file."""
    head = content.head(source)
    if head.startswith(files.SQLITE):
        path = unpacked(source, staging)
        if not files.is_database(source.path) and b"CommAnalyzer" in head and b"STRING_IDS" not in head:
            return files.Result(analysis=path)
        return files.Result(database=path, rank=files.rank_in_name(source.path.name))
    if table := table_kind(head):
        return files.Result(tables={table: (unpacked(source, staging),)})
    if summary := summary_kind(head):
        return files.Result(summaries={summary: unpacked(source, staging)})
    return files.Result(trace=source)


def _nothing_in(source: Source, staging: Staging, result: files.Result) -> UnusableInputError:
    """The error for a result without usable files; damage is reported before absence."""
    wrong = [line.message for line in staging.health if line.code in _DAMAGED]
    if wrong:
        return UnusableInputError(
            said(
                "{source} is damaged, and no event of it can be read: {wrong}",
                source=source,
                wrong="; ".join(dict.fromkeys(wrong)),
            ),
            hint="copy it again, or run torch_npu.profiler.profiler.analyse on the raw data",
        )
    if only := {*result.tables, *result.summaries} & {"operator_details", "l2_cache"}:
        return UnusableInputError(
            said(
                "{source} has no times: {only} means something beside trace_view.json or kernel_details.csv only",
                source=source,
                only=", ".join(sorted(only)),
            ),
            hint="give the folder that it lies in",
        )
    return UnusableInputError(
        said("{source} holds no events of an Ascend profiler", source=source),
        hint="give the folder that ends in _ascend_pt, after torch_npu.profiler.profiler.analyse has run on it",
    )


def _observe_files(staging: Staging, result: files.Result) -> None:
    """Report files that could not be read at all."""
    for name in result.unreadable:
        staging.observe(
            "file-unreadable", "warning", 1, said("{name} is no JSON", name=name), "its contents are missing"
        )
    staging.observe(
        "exports-older", "info", len(result.older),
        said("files are of earlier exports: {older}", older=", ".join(result.older[:5])), "the last export is read",
    )  # fmt: skip
    staging.observe(
        "files-unknown", "info", len(result.unknown),
        said("tables of unknown kinds: {unknown}", unknown=', '.join(result.unknown[:5])),
        "they are not read",
    )  # fmt: skip
    for name in dict.fromkeys(result.emptied):
        staging.observe(
            "file-empty", "warning", 1, said("{name} has no content", name=name), "its contents are missing"
        )


def _observe(staging: Staging, result: files.Result) -> None:
    level = str(attributes(result.info, {}).get("profiler_level", "")).lower()
    details = "kernel_details" in result.tables or result.database or "kernel_details.csv" in result.emptied
    if result.trace and not details:
        staging.observe(
            "no-kernel-details", "info", 1, "there is no kernel_details.csv",
            "kinds of cores, shapes and counters of kernels are unknown; give the whole folder",
        )  # fmt: skip
    if level in ("level0", "level_none", "levelnone"):
        staging.observe(
            "level-low", "info", 1, said("the profiler's level was {level}", level=level),
            said("{database}core types, shapes, counters and transfers of collectives are missing; record with "
"profiler_level=ProfilerLevel.Level1", database='' if result.database and (not result.trace) else
said('calls of CANN, ')),
        )  # fmt: skip
