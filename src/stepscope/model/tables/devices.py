"""Canonical tables about devices and what runs on them."""

from __future__ import annotations

from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.schema import Column, TableSchema, flag, fraction, ident, ns, number, size, text
from stepscope.model.tables.columns import DEVICE, RANK, STEP

KERNELS = TableSchema(
    "kernels",
    "One row per device activity: kernels, collectives, copies, memsets and device-side waits.",
    (
        ident("event", "The event."),
        RANK,
        ns("ts", "Start."),
        ns("dur", "Duration."),
        Column("track", "int32", "Device queue, a row of `tracks`.", "id"),
        DEVICE,
        text("stream", "Queue as recorded.", nullable=True),
        text("name", "Name as recorded."),
        text("kind", "One of: " + ", ".join(KERNEL_KINDS) + "."),
        text(
            "op_class",
            "gemm, attention, convolution, normalisation, elementwise, reduction, embedding, optimizer, "
            "collective, copy or other.",
        ),
        ident("launch", "Host event that launched it; null if not recorded.", nullable=True),
        ident("op", "Innermost operator around the launch; null if not recorded.", nullable=True),
        ident(
            "module",
            "Innermost module or annotation around the launch; null if there is none.",
            nullable=True,
        ),
        STEP,
        ident("correlation", "Key shared with its launch; null if none.", nullable=True),
        Column("grid", "int32[]", "Blocks in x, y and z; null if not recorded.", "", True),
        Column("block", "int32[]", "Threads per block in x, y and z; null if not recorded.", "", True),
        Column("registers", "int32", "Registers per thread; null if not recorded.", "", True),
        size("shared_bytes", "Shared memory per block; null if not recorded.", nullable=True),
        fraction("occupancy", "Estimated achieved occupancy; null if not recorded.", nullable=True),
        text("dtype", "Data type of the operands, as recorded, else from the name; null if unknown.", nullable=True),
        flag("tensor_core", "Whether it uses tensor cores, from the name; null if unknown.", nullable=True),
        number(
            "flops",
            "Floating-point operations of the operator, for one kernel of each operator that has a cost model: "
            "its first of the class that the cost is of, else its first. Null for all others.",
            "FLOP",
            nullable=True,
        ),
        size(
            "bytes",
            "Bytes read and written by the operator by the same rule, or moved by a copy; else null.",
            nullable=True,
        ),
        ident("graph", "Graph launch it belongs to: the launching event; null outside graphs.", nullable=True),
        text("op_type", "What the device's library calls the operator; null if not recorded.", nullable=True),
        text(
            "core",
            "Kind of core that it ran on, as recorded (AI_CORE, AI_VECTOR_CORE, MIX_AIC, AI_CPU, ...); null if not.",
            nullable=True,
        ),
    ),
)
KERNEL_METRICS = TableSchema(
    "kernel_metrics",
    "One row per number that the device's counters gave for one device activity.",
    (
        ident("event", "The device event."),
        RANK,
        text("metric", "As the profiler calls it, without its unit: `aic_mac_ratio`, `cube_utilization`, ..."),
        number("value", "Times in ns, ratios as fractions, sizes in bytes, bandwidths in bytes/s; else as recorded."),
    ),
)
KERNEL_COUNTERS = TableSchema(
    "kernel_counters",
    "One row per number that a kernel profiler counted of one launch: Nsight Compute, `msprof op`, rocprof-compute.",
    (
        RANK,
        Column("launch", "int32", "Number of the launch among those that were profiled.", "id"),
        text("tool", "ncu, msprof op or rocprof-compute."),
        text("name", "Kernel as the tool writes it."),
        text("base", "Its name without template arguments and parameters."),
        Column("nth", "int32", "How many launches with that base name were profiled before.", "count"),
        ns("dur", "Duration as counted; null if not. Profilers slow kernels down and fix clocks.", nullable=True),
        Column("grid", "int32[]", "Blocks in x, y and z; null if not recorded.", "", True),
        Column("block", "int32[]", "Threads per block in x, y and z; null if not recorded.", "", True),
        text("metric", "What was counted, by one name for all tools where there is one (`l2_hit_rate`), else as the "
             "tool calls it."),
        number("value", "Times in ns, sizes in bytes, shares of one; else as recorded."),
    ),
)  # fmt: skip
COPIES = TableSchema(
    "copies",
    "One row per device copy or memset.",
    (
        ident("event", "The device event."),
        RANK,
        text("direction", "HtoD, DtoH, DtoD, PtoP, HtoH, set (a memset) or unknown."),
        size("bytes", "Bytes moved or set; null if not recorded.", nullable=True),
        text("src_kind", "pageable, pinned, device, managed, or null if not recorded.", nullable=True),
        text("dst_kind", "pageable, pinned, device, managed, or null if not recorded.", nullable=True),
    ),
)
SAMPLES = TableSchema(
    "samples",
    "One row per processor sample of the functions that a host thread was in.",
    (
        RANK,
        ns("ts", "When."),
        Column("track", "int32", "Host track, a row of `tracks`.", "id"),
        text("stack", "Functions that the thread was in, innermost first, joined by `;`; a library stands for those of "
             "its functions that have no name."),
    ),
)  # fmt: skip
DEVICES = TableSchema(
    "devices",
    "One row per device that the recording describes or uses.",
    (
        RANK,
        Column("device", "int32", "Device index.", "id"),
        text("name", "Name as recorded; null if not.", nullable=True),
        flag("used", "Whether the recording has activity on it."),
        size("memory_bytes", "Total device memory; null if not recorded.", nullable=True),
        Column("sms", "int32", "SMs, compute units or cores; null if not recorded.", "count", True),
        Column(
            "max_threads_per_sm",
            "int32",
            "Resident threads per SM or CU; null if not recorded.",
            "",
            True,
        ),
        Column("registers_per_sm", "int32", "Registers per SM or CU; null if not recorded.", "", True),
        size("shared_bytes_per_sm", "Shared memory per SM or CU; null if not recorded.", nullable=True),
        Column("warp_size", "int32", "Threads per warp; null if not recorded.", "", True),
        text("compute_capability", "Architecture version as recorded; null if not.", nullable=True),
        Column("clock_hz", "int64", "Highest clock of its units in Hz; null if not recorded.", "", True),
        Column("memory_bandwidth", "int64", "To and from its memory; null if not recorded.", "bytes/s", True),
        text(
            "known_by",
            "How the device is known where the recording does not name it: from counters of its kernels, or as stated "
            "by the user; else null.",
            nullable=True,
        ),
    ),
)
