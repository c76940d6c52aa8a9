"""Health checks of snapshots."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from stepscope.language import pattern
from stepscope.readers.memsnapshot.contents import Loaded
from stepscope.readers.memsnapshot.device import Found
from stepscope.readers.memsnapshot.history import History
from stepscope.store.staging import Staging

_RECORD: Final = pattern("call torch.cuda.memory._record_memory_history() at the start of the program")
_LONGER: Final = pattern("give torch.cuda.memory._record_memory_history a larger max_entries")
_OLDER: Final = pattern("sums and the peak include them; who allocated them, and what came before, is not recorded")


def add(total: Found, more: Found) -> None:
    """Add the counts of one device to those of all."""
    for field in fields(Found):
        setattr(total, field.name, getattr(total, field.name) + getattr(more, field.name))


#: Least entries of a history: by default PyTorch 2.0 keeps one, often just the snapshot's own.
LEAST_HISTORY: Final = 2


def is_full(entries: int) -> bool:
    """Whether a history's length looks like a limit: a round number or a power of two."""
    if entries < 1000:
        return False
    return len(str(entries).rstrip("0")) == 1 or entries & (entries - 1) == 0


def observe_history(staging: Staging, found: Found, lengths: list[int], mended: int, *, cut: bool) -> None:
    """Report what the histories lack; `cut` means that the file ends early.

    A history that is not full lost nothing: older memory existed when it started, and from then on it is complete,
    including its peak.
    """
    observe = staging.observe
    # A truncated history has the length of the batches it was written in.
    full = 0 if cut else sum(map(is_full, lengths))
    known = any(length >= LEAST_HISTORY for length in lengths)
    observe("history-full", "warning", full, "histories are as long as a limit: older entries were overwritten",
            pattern("what came before is missing") + "; " + _LONGER)  # fmt: skip
    lost = found.lost if full else 0
    observe("history-lost", "warning", lost, "frees of memory whose allocation is not recorded: the history lost its "
            "oldest entries", pattern("who allocated it is unknown") + "; " + _LONGER)  # fmt: skip
    observe("history-older", "info", found.lost - lost if known else 0, "blocks are older than the history and were "
            "freed during it", _OLDER)  # fmt: skip
    observe("history-late", "info", found.early if known else 0, "blocks in use are older than the history", _OLDER)
    observe("history-unbalanced", "warning", found.unfreed, "addresses were allocated again without a free in between",
            "each counts as freed at that moment")  # fmt: skip
    observe("history-vanished", "warning", 0 if cut else found.vanished,
            "allocations without a free are not among the blocks in use",
            "they count as never freed; totals over time are too high by them")  # fmt: skip
    observe("times-mended", "info", mended, "entries have no time, or one before their predecessor's",
            "they have their predecessor's time; the order is certain")  # fmt: skip


def observe_content(
    staging: Staging, loaded: Loaded, history: History, *, entries: int, timed: bool, stacked: bool
) -> None:
    """Report what the snapshot as a whole lacks."""
    observe = staging.observe
    observe("truncated", "error", 1 if loaded.cut else 0, loaded.cut, "what came after is missing: the numbers are of "
            "a part of the snapshot; write it again")  # fmt: skip
    observe("rows-skipped", "warning", loaded.foreign + history.foreign,
            "segments, blocks or entries of the history are of another type than they should be",
            "they are missing from every number; write the snapshot again")  # fmt: skip
    observe("values-unreadable", "warning", loaded.unsized + history.unsized + history.unreadable,
            "segments, blocks or entries of the history have no size, address or action that can be one",
            "they count as of no bytes, or as of what lies in them; write the snapshot again")  # fmt: skip
    observe("values-unreadable", "warning", history.stacks.odd,
            "frames of call stacks have a file, line or function of another type than they should be",
            "they are shown as they are, and may stand for several; write the snapshot again")  # fmt: skip
    observe("values-unreadable", "warning", history.stacks.lost, "call stacks are no list of frames",
            "what was allocated there has no place; write the snapshot again")  # fmt: skip
    observe("no-history", "warning", 0 if entries >= LEAST_HISTORY else 1, "the snapshot has no history",
            pattern("nothing is known of the past: no peak, no churn") + "; " + _RECORD)  # fmt: skip
    untimed = entries >= LEAST_HISTORY and not timed
    observe("no-times", "info", int(untimed), "the history has no times (PyTorch before 2.2)",
            "positions in the history stand for times, one nanosecond apart")  # fmt: skip
    observe("no-stacks", "warning", 0 if stacked else 1, "the snapshot has no call stacks",
            "it is unknown who holds the memory; record with stacks='python' or 'all'")  # fmt: skip
    observe("no-segments", "warning", 0 if loaded.segments else 1, "the snapshot has no segments",
            "reserved memory and fragmentation are unknown")  # fmt: skip
