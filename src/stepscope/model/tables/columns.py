"""Columns that many tables have."""

from __future__ import annotations

from typing import Final

from stepscope.model.schema import (
    Column,
)

RANK: Final = Column("rank", "int32", "Rank of the process in the job, or its position in the input.")
DEVICE = Column("device", "int32", "Device index; null for host memory or where not recorded.", "", True)
STEP = Column("step", "int32", "Step, as in `steps`; null outside every step.", "", True)
