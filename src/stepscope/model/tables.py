"""The canonical tables, which every reader's recording is converted to.

`docs/schema.md` is generated from these declarations (`stepscope schema`). Times are integer
nanoseconds since the trace's origin; `manifest.json` of a store holds the origin in Unix time.
`(rank, id)` identifies an event.
"""

from __future__ import annotations

from typing import Final

from stepscope.model.categories import CATEGORIES, KERNEL_KINDS
from stepscope.model.memory_tables import MEMORY_TABLES
from stepscope.model.schema import (
    Column,
    TableSchema,
    count,
    flag,
    fraction,
    ident,
    ns,
    number,
    size,
    text,
)

RANK: Final = Column("rank", "int32", "Rank of the process in the job, or its position in the input.")
_DEVICE = Column("device", "int32", "Device index; null for host memory or where not recorded.", "", True)
_STEP = Column("step", "int32", "Step, as in `steps`; null outside every step.", "", True)

EVENTS = TableSchema(
    "events",
    "One row per recorded interval or instant, in the order of the recording.",
    (
        ident("id", "Position among the recording's events, counted from 0."),
        RANK,
        ns("ts", "Start."),
        ns(
            "dur",
            "Duration; null if the recording has none (an instant, or an event never closed).",
            nullable=True,
        ),
        Column("track", "int32", "Thread or device queue, a row of `tracks`.", "id"),
        Column("depth", "int32", "Nesting depth on the track, 0 is outermost; null on device tracks.", "", True),
        ident("parent", "Innermost event of the track that encloses this one; null at depth 0.", nullable=True),
        text("name", "Name as recorded."),
        text("category", "One of: " + ", ".join(CATEGORIES) + "."),
        _STEP,
        ident("correlation", "Key that a launch and its device work share; null if none.", nullable=True),
        ident("external_id", "Key that an operator and its device work share; null if none.", nullable=True),
        text("args", "Arguments as JSON text, as written but for white space; null if none.", nullable=True),
    ),
)

TRACKS = TableSchema(
    "tracks",
    "One row per thread, device queue or counter.",
    (
        Column("track", "int32", "Number of the track within its rank.", "id"),
        RANK,
        text("kind", "host, device or counter."),
        text("process", "Process id or label as recorded.", nullable=True),
        text("thread", "Thread id as recorded; null for device queues.", nullable=True),
        _DEVICE,
        text("stream", "Queue as recorded: a number, or a name such as `sycl queue`.", nullable=True),
        text("label", "Name to show."),
    ),
)

KERNELS = TableSchema(
    "kernels",
    "One row per device activity: kernels, collectives, copies, memsets and device-side waits.",
    (
        ident("event", "The event."),
        RANK,
        ns("ts", "Start."),
        ns("dur", "Duration."),
        Column("track", "int32", "Device queue, a row of `tracks`.", "id"),
        _DEVICE,
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
        _STEP,
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

COLLECTIVES = TableSchema(
    "collectives",
    "One row per collective or point-to-point transfer seen on a rank.",
    (
        ident("event", "The device event; the host event where no device event exists (for example gloo)."),
        RANK,
        text("group", "Process group: its name, or `default` where not recorded."),
        Column("seq", "int64", "Sequence number in the group as recorded; null if not.", "", True),
        text(
            "collective",
            "all_reduce, all_gather, reduce_scatter, broadcast, reduce, gather, scatter, all_to_all, "
            "send, recv, send_recv (where not distinguished), barrier or other.",
        ),
        size(
            "bytes",
            "Size of the collective: the larger of input and output; null if not recorded.",
            nullable=True,
        ),
        text("dtype", "Data type as recorded.", nullable=True),
        Column("world_size", "int32", "Number of ranks in the group; null if not recorded.", "", True),
        Column("ranks", "int32[]", "Ranks of the group; null if not recorded.", "", True),
        ns(
            "transfer_ns",
            "Time in which data moved, at most, as the library summed it up; null if it did not.",
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

COMM_TASKS = TableSchema(
    "comm_tasks",
    "One row per part of a collective that its library recorded: transfers over links, waits and signals.",
    (
        ident("event", "The part's own event."),
        RANK,
        ident("collective", "The collective's event; null if not found.", nullable=True),
        text("kind", "copy, reduce, wait, signal, send or other."),
        Column("plane", "int32", "Number of the part's queue within the collective; null if not recorded.", "", True),
        Column("src", "int32", "Rank within the group that data leaves; null if not recorded.", "", True),
        Column("dst", "int32", "Rank within the group that data enters; null if not recorded.", "", True),
        text("transport", "SDMA, RDMA, LOCAL, ...; null if not recorded.", nullable=True),
        text("link", "HCCS, PCIE, ROCE, SIO, ON_CHIP, ...; null if not recorded.", nullable=True),
        size("bytes", "Bytes moved; null if not recorded.", nullable=True),
    ),
)

RECORDED = TableSchema(
    "recorded",
    "One row per number that the profiler summed up itself, kept to compare with; what can be derived is derived.",
    (
        RANK,
        text("source", "What it is a summary of: steps, operators, api, communication, bandwidth, matrix, ..."),
        text("step", "Step as the summary names it; null if it is of the whole recording.", nullable=True),
        text("subject", "What the number is about: an operator, a call, a collective, a link; empty for the step."),
        text("metric", "Name and unit as recorded."),
        number("value", "Value as recorded."),
    ),
)

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

MEMORY = TableSchema(
    "memory",
    "One row per allocation, free or allocator total, in time order.",
    (
        RANK,
        ns("ts", "When."),
        _DEVICE,
        Column("address", "int64", "Address of the block; null for totals.", "", True),
        Column("bytes", "int64", "Bytes allocated, negative for a free; null for totals.", "bytes", True),
        size("allocated", "Bytes in use after it, as recorded.", nullable=True),
        size("reserved", "Bytes held by the caching allocator after it, as recorded.", nullable=True),
        ident("owner", "Innermost event that encloses it on its thread; null if none.", nullable=True),
    ),
)

COUNTERS = TableSchema(
    "counters",
    "One row per sample of a counter.",
    (
        RANK,
        ns("ts", "When."),
        Column("track", "int32", "Counter track, a row of `tracks`.", "id"),
        text("name", "Series."),
        number("value", "Sample."),
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

FLOWS = TableSchema(
    "flows",
    "One row per recorded flow between two events.",
    (
        RANK,
        text("kind", "launch, forward_backward, or the recorded name."),
        ident("source", "Event the flow leaves; null if not found.", nullable=True),
        ident("target", "Event the flow enters; null if not found.", nullable=True),
    ),
)

STEPS = TableSchema(
    "steps",
    "One row per step, in time order.",
    (
        Column(
            "step",
            "int32",
            "What every column `step` says of it, and `--step` asks for: the recorded number. Steps without one, and "
            "those whose number an earlier step of the rank has, count on from the highest, or from 0.",
            "id",
        ),
        RANK,
        text("name", "Recorded name, or a made one for inferred steps."),
        Column("number", "int64", "Number in the recorded name; null if it has none.", "", True),
        text(
            "source",
            "profiler (ProfilerStep#N), annotation (the user's), passes (of a network, several in one recorded step or "
            "in the recording), requests (from the start of one to that of the next), inferred (a repeated sequence) "
            "or whole (the trace as one step).",
        ),
        ns("ts", "Start on the host."),
        ns("dur", "Duration on the host."),
        ns("end", "End including the last device work launched in it."),
        flag(
            "partial",
            "Whether the recording starts or ends inside it: the first or last step, with clearly less work "
            "than the others.",
        ),
        ns(
            "begin",
            "Start on the devices: that on the host, or the end of the work of earlier steps and of before the "
            "recording if that is later.",
        ),
        flag("typical", "Whether it is one of the steps that everything said per step is about."),
        text(
            "role",
            "typical, partial, warm-up (first steps, longer than the later ones), edge (the first or last step, with "
            "what the profiler's start or stop adds), outlier (any other that is much unlike the others) or window "
            "(the trace as one step).",
        ),
        text("reason", "Why it is not typical; null if it is.", nullable=True),
    ),
)

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
    ),
)

OP_INPUTS = TableSchema(
    "op_inputs",
    "One row per operator whose inputs were recorded.",
    (
        ident("event", "The operator's event."),
        RANK,
        text("shapes", "Shapes of the inputs, JSON: a list per tensor.", nullable=True),
        text("dtypes", "Data types of the inputs, JSON.", nullable=True),
        text("strides", "Strides of the inputs, JSON.", nullable=True),
        text("values", "Values of the other inputs, JSON.", nullable=True),
        text("stack", "Python call stack, innermost line first, lines joined by `;`.", nullable=True),
        text("module", "Module hierarchy as recorded.", nullable=True),
        Column(
            "sequence",
            "int64",
            "Number shared by a forward operator and its backward; null if none.",
            "",
            True,
        ),
        Column(
            "forward_thread",
            "int64",
            "Thread of the forward operator, on a backward one; else null.",
            "",
            True,
        ),
    ),
)

GROUPS = TableSchema(
    "groups",
    "One row per process group that the recording describes.",
    (
        RANK,
        text("group", "Name."),
        text("description", "What it is for, as recorded.", nullable=True),
        text("backend", "nccl, gloo, hccl, ...", nullable=True),
        Column("size", "int32", "Number of ranks.", "count", True),
        Column("ranks", "int32[]", "Its ranks; null if not recorded.", "", True),
    ),
)

HEALTH = TableSchema(
    "health",
    "What is wrong with the recording, or missing from it.",
    (
        Column("rank", "int32", "Rank concerned; null for the input as a whole.", "", True),
        text("code", "Stable name of the observation."),
        text("severity", "error (numbers are wrong), warning (some numbers are missing or approximate), info."),
        count("count", "How many times."),
        text("message", "What was seen."),
        text("effect", "What it means for the numbers, and what to record next time."),
    ),
)

TABLES: Final = (
    EVENTS, TRACKS, KERNELS, KERNEL_METRICS, COLLECTIVES, COMM_TASKS, COPIES, MEMORY, COUNTERS, SAMPLES, FLOWS, STEPS,
    DEVICES, OP_INPUTS, GROUPS, *MEMORY_TABLES, RECORDED, HEALTH,
)  # fmt: skip

BY_NAME: Final = {table.name: table for table in TABLES}
