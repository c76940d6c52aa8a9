"""Canonical tables about what the host and the program did."""

from __future__ import annotations

from stepscope.model.categories import CATEGORIES
from stepscope.model.schema import Column, TableSchema, flag, ident, ns, number, size, text
from stepscope.model.tables.columns import DEVICE, RANK, STEP

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
        STEP,
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
        DEVICE,
        text("stream", "Queue as recorded: a number, or a name such as `sycl queue`.", nullable=True),
        text("label", "Name to show."),
    ),
)
MEMORY = TableSchema(
    "memory",
    "One row per allocation, free or allocator total, in time order.",
    (
        RANK,
        ns("ts", "When."),
        DEVICE,
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
OP_INPUTS = TableSchema(
    "op_inputs",
    "One row per operator, or kernel of an operator without them, whose inputs were recorded.",
    (
        ident("event", "The event of the operator or kernel."),
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
