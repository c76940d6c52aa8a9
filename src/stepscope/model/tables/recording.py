"""Canonical tables about the recording itself: what the profiler summed up, long names, and what is wrong."""

from __future__ import annotations

from stepscope.model.schema import Column, TableSchema, count, number, text
from stepscope.model.tables.columns import RANK

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
LONG_TEXTS = TableSchema(
    "long_texts",
    "One row per name that is too long to be shown: what stands for it everywhere else, and the whole of it.",
    (
        RANK,
        text("text", "What stands for it: its first characters, how many it has, and what tells it from others."),
        text("whole", "The name as recorded."),
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
