"""What is wrong with a snapshot, or missing from it."""

from __future__ import annotations

from dataclasses import fields

from stepscope.readers.memsnapshot.device import Found
from stepscope.readers.memsnapshot.load import Loaded
from stepscope.store.staging import Staging

_RECORD = "call torch.cuda.memory._record_memory_history() at the start of the program, with a larger max_entries"


def add(total: Found, more: Found) -> None:
    """Add the counts of one device to those of all."""
    for field in fields(Found):
        setattr(total, field.name, getattr(total, field.name) + getattr(more, field.name))


def is_full(entries: int) -> bool:
    """Whether a history is as long as a limit that someone would set: a round number or a power of two.

    PyTorch 2.0 keeps one entry unless told otherwise, later versions as many as fit.
    """
    if entries < 1000:
        return entries == 1
    return len(str(entries).rstrip("0")) == 1 or entries & (entries - 1) == 0


def observe_history(staging: Staging, found: Found, lengths: list[int], mended: int) -> None:
    """Say what the histories lack."""
    effect = "peaks are lower bounds; " + _RECORD
    observe = staging.observe
    observe("history-lost", "warning", found.lost, "frees of memory whose allocation is not recorded: the history "
            "lost its oldest entries, or began later", effect)  # fmt: skip
    observe("history-late", "info", found.early, "blocks in use whose allocation is not recorded: they are older than "
            "the history", effect)  # fmt: skip
    observe("history-full", "warning", sum(map(is_full, lengths)), "histories are as long as a limit: older entries "
            "were overwritten", effect)  # fmt: skip
    observe("history-unbalanced", "warning", found.unfreed, "addresses were allocated again without a free in between",
            "each counts as freed at that moment")  # fmt: skip
    observe("history-vanished", "warning", found.vanished, "allocations without a free are not among the blocks in use",
            "they count as never freed; totals over time are too high by them")  # fmt: skip
    observe("times-mended", "info", mended, "entries have no time, or one before their predecessor's",
            "they have their predecessor's time; the order is certain")  # fmt: skip


def observe_content(staging: Staging, loaded: Loaded, *, entries: int, timed: bool, stacked: bool) -> None:
    """Say what the snapshot as a whole lacks."""
    observe = staging.observe
    observe("truncated", "error", 1 if loaded.cut else 0, loaded.cut, "what came after is missing: the numbers are of "
            "a part of the snapshot; write it again")  # fmt: skip
    observe("no-history", "warning", 0 if entries else 1, "the snapshot has no history",
            "nothing is known of the past: no peak, no churn; " + _RECORD)  # fmt: skip
    observe("no-times", "info", 1 if entries and not timed else 0, "the history has no times (PyTorch before 2.2)",
            "positions in the history stand for times, one nanosecond apart")  # fmt: skip
    observe("no-stacks", "warning", 0 if stacked else 1, "the snapshot has no call stacks",
            "it is unknown who holds the memory; record with stacks='python' or 'all'")  # fmt: skip
    observe("no-segments", "warning", 0 if loaded.segments else 1, "the snapshot has no segments",
            "reserved memory and fragmentation are unknown")  # fmt: skip
