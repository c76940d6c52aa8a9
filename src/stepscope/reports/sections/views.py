"""Short views of the main tables: columns, order and number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from stepscope.model.kernel_names.short import short_name
from stepscope.model.places import short_place
from stepscope.reports.text import module_class

_SUMMARY: Final = ("count", "total_ns", "share", "mean_ns", "min_ns", "max_ns")


@dataclass(frozen=True, slots=True)
class View:
    """A table of the report in short.

    Attributes:
        table: Its name.
        caption: What it shows, in a few words.
        keys: Columns by which rows of several ranks are put together.
        columns: Columns shown after the keys, the most important first; those that the table lacks are left out.
        order: Column by which the largest come first; where it is not `total_ns`, shares are of its sum.
        rows: Most rows shown; None for as many as are asked for.
        shorten: Makes values of the first key short; rows that then agree are put together.
        only: Column and the value that its rows must have.
        needs: Column that must not be null.
    """

    table: str
    caption: str
    keys: tuple[str, ...] = ("name",)
    columns: tuple[str, ...] = _SUMMARY
    order: str = "total_ns"
    rows: int | None = None
    shorten: Callable[[str], str] | None = None
    only: tuple[str, str | bool] | None = None
    needs: str = ""


#: What ran: classes, kernels, operators, modules.
RAN: Final = (
    View("kernel_classes", "Kernel classes", columns=("total_ns", "share", "count", "mean_ns", "tensor_core_ns")),
    View(
        "kernels",
        "Kernels",
        ("name", "op_class"),
        ("total_ns", "share", "count", "mean_ns", "min_ns", "max_ns"),
        shorten=short_name,
    ),
    View(
        "operators",
        "Operators",
        columns=("self_device_ns", "share", "total_device_ns", "self_ns", "total_ns", "count"),
        order="self_device_ns",
    ),
    View(
        "modules",
        "Modules and annotations",
        ("name", "kind"),
        ("self_device_ns", "share", "device_ns", "backward_ns", "total_ns", "count"),
        order="self_device_ns",
        rows=8,
        shorten=module_class,
    ),
    View("graphs", "Graphs", columns=("device_ns", "count", "kernels", "unattributed_ns"), rows=5),
)

#: How well the device was used.
EFFICIENCY: Final = (
    View(
        "roofline",
        "Roofline",
        ("name", "dtype"),
        ("total_ns", "share", "flop_rate", "byte_rate", "efficiency", "bound"),
        rows=6,
    ),
    View(
        "inspected_kernels",
        "Kernels looked into",
        ("name", "tool"),
        ("share", "occupancy", "limited_by", "stall", "sectors_per_load", "bank_conflicts", "l2_hit_rate"),
        rows=6,
    ),
)

#: Everything else, in brief.
BESIDES: Final = (
    View(
        "collectives",
        "Collectives",
        ("name", "group"),
        ("total_ns", "share", "exposed_ns", "count", "bytes", "bus_bandwidth"),
        rows=6,
    ),
    View(
        "links",
        "Links between ranks",
        ("name", "transport", "src", "dst"),
        ("total_ns", "share", "count", "bytes", "bandwidth", "wait_ns"),
        rows=8,
    ),
    View(
        "packet_sizes",
        "Packets by link and size",
        ("link", "packet_bytes"),
        ("total_ns", "count", "bytes", "bandwidth"),
        rows=5,
    ),
    View(
        "link_rates",
        "Links of the device, as sampled",
        ("link", "port", "direction"),
        ("mean_rate", "peak_rate", "mean_share", "peak_share", "lost_share"),
        rows=6,
    ),
    View("copies", "Copies", columns=("total_ns", "share", "count", "bytes", "bandwidth", "blocked_ns"), rows=5),
    View(
        "synchronisations",
        "Synchronisations",
        ("name", "operator"),
        ("total_ns", "share", "count", "busy_ns", "idle_ns", "refill_ns"),
        rows=5,
    ),
    View(
        "launches",
        "Launch calls",
        columns=("total_ns", "share", "count", "mean_ns", "delay_median_ns", "short_work", "blocked_ns"),
        rows=5,
    ),
    View("dataloader", "Data loading", columns=("total_ns", "count", "per_step_ns", "share_of_steps"), rows=5),
    View(
        "recorded_totals",
        "Operators by type, by the profiler's own totals",
        ("name",),
        ("total_ns", "share", "count", "mean_ns", "min_ns", "max_ns"),
        rows=10,
        only=("of", "operators"),
    ),
    View(
        "recorded_totals",
        "Calls, by the profiler's own totals",
        ("name",),
        ("total_ns", "share", "count", "mean_ns", "min_ns", "max_ns"),
        rows=10,
        only=("of", "calls"),
    ),
    View(
        "recorded_totals",
        "Links between ranks of groups, by the profiler's own totals",
        ("name",),
        ("total_ns", "share", "bytes", "bandwidth"),
        rows=8,
        only=("of", "links"),
    ),
    View(
        "recorded_summary",
        "The profiler's own totals",
        ("source",),
        ("recorded_ns", "computed_ns", "difference_ns"),
        order="recorded_ns",
        only=("adds_up", True),
    ),
)

#: Device memory.
MEMORY: Final = (
    View(
        "memory_peaks",
        "Memory peaks of rank",
        ("rank", "device"),
        ("peak_bytes", "peak_share", "peak_reserved_bytes", "reserved_share", "total_bytes"),
        order="peak_bytes",
        rows=8,
    ),
    View(
        "memory_holders", "Held at the peak", ("operator",), ("bytes", "share", "count"), "bytes", 5, needs="operator"
    ),
    View(
        "memory_peak_stacks",
        "In use at the peak, by purpose",
        ("name",),
        ("bytes", "share", "count", "largest_bytes"),
        "bytes",
        10,
        only=("by", "purpose"),
    ),
    View(
        "memory_peak_stacks",
        "In use at the peak, by source line",
        ("name",),
        ("bytes", "share", "count", "largest_bytes", "brief_bytes"),
        "bytes",
        shorten=short_place,
        only=("by", "line"),
    ),
    View("memory_steps", "Memory by step", ("step", "device"), ("peak_bytes", "begin_bytes", "end_bytes"), rows=8),
    View(
        "memory_snapshot",
        "At the end, of rank",
        ("rank", "device"),
        ("segments", "reserved_bytes", "allocated_bytes", "inactive_bytes", "releasable_bytes", "stranded_bytes"),
        order="reserved_bytes",
        rows=8,
    ),
    View(
        "memory_unreturned",
        "Allocated during the history, in use at its end",
        ("place",),
        ("bytes", "share", "count", "steps"),
        "bytes",
        5,
        shorten=short_place,
    ),
    View(
        "cache_flushes",
        "Cache returned to the driver",
        ("place", "cause"),
        ("segments", "bytes", "requested_bytes"),
        "bytes",
        5,
        shorten=short_place,
    ),
    View(
        "out_of_memory",
        "Failed allocations",
        ("place",),
        ("requested_bytes", "device_free_bytes", "verdict"),
        "requested_bytes",
        5,
        shorten=short_place,
    ),
)

#: Tables about all ranks that a page shows.
SHOWN_OF_JOB: Final = ("slow_ranks", "communication_ranks", "parallel_groups", "clock_offsets")

#: Every other table with a view on a page.
SHOWN: Final = frozenset(
    {
        "program",
        "serving",
        "serving_times",
        "throughput",
        "step_budget",
        "coverage",
        "phases",
        "idle_causes",
        "mfu",
        "tensor_cores",
    }
    | {"short_kernels", "allocator_timeline"}
    | {view.table for view in (*RAN, *EFFICIENCY, *BESIDES, *MEMORY)}
)
