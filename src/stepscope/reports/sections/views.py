"""How the best known tables are shown in short."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_SUMMARY: Final = ("count", "total_ns", "share", "mean_ns", "min_ns", "max_ns")


@dataclass(frozen=True, slots=True)
class View:
    """A table of the report in short.

    Attributes:
        table: Its name.
        caption: What it shows, in a few words.
        keys: Columns by which rows of several ranks are put together.
        columns: Columns shown after the keys, the most important first; those that the table lacks are left out.
        rows: Most rows shown; None for as many as are asked for.
        kernels: Whether `name` holds names of kernels, which are shortened.
    """

    table: str
    caption: str
    keys: tuple[str, ...] = ("name",)
    columns: tuple[str, ...] = _SUMMARY
    rows: int | None = None
    kernels: bool = False


#: What ran: classes, kernels, operators, modules.
RAN: Final = (
    View("kernel_classes", "Kernel classes"),
    View("kernels", "Kernels", ("name", "op_class"), kernels=True),
    View("operators", "Operators", columns=("count", "device_self_ns", "self_device_ns", *_SUMMARY)),
    View("modules", "Modules and annotations", rows=6),
)

#: Everything else, in brief.
BESIDES: Final = (
    View("collectives", "Collectives", rows=5),
    View("comm_overlap", "Communication behind compute", ("group",), ("comm_ns", "overlapped_ns", "exposed_ns"), 5),
    View("copies", "Copies", rows=5),
    View("synchronisations", "Synchronisations", rows=5),
    View("launches", "Launches", rows=5),
    View("dataloader", "Data loading", rows=5),
    View("memory_peaks", "Memory peaks", rows=5),
)
