"""Columns of device activities stored beside those of `kernels`: their launches and operators, joined in advance."""

from __future__ import annotations

from typing import Final

from stepscope.model.schema import Column, TableSchema, ns
from stepscope.model.tables import KERNELS

#: About the launch; all null if there is none, or it is not among the events.
LAUNCH_COLUMNS: Final = (
    ns("launch_ts", "Start of the launch; null if the launch is not recorded.", nullable=True),
    ns("launch_dur", "Its duration; null if not recorded.", nullable=True),
    Column("launch_track", "int32", "Its thread, a row of `tracks`.", "id", True),
    Column("launch_name_id", "int32", "Its name, a row of `names`.", "id", True),
    Column("launch_step", "int32", "The step that it lies in; null outside every step.", "", True),
)

#: About the operator; all null likewise.
OP_COLUMNS: Final = (
    ns("op_ts", "Start of the operator; null if the operator is not recorded.", nullable=True),
    Column("op_track", "int32", "Its thread, a row of `tracks`.", "id", True),
    Column("op_name_id", "int32", "Its name, a row of `names`.", "id", True),
)

ACTIVITIES: Final = TableSchema(
    "activities",
    "One row per device activity, as in `kernels`, with its launch and operator.",
    (*KERNELS.columns, Column("name_id", "int32", "Row of `names`.", "id"), *LAUNCH_COLUMNS, *OP_COLUMNS),
)
