"""Which devices the recording uses."""

from __future__ import annotations

from typing import Final

from stepscope.store.staging import Staging

_USED_SQL: Final = "UPDATE devices SET used = true WHERE device IN (SELECT device FROM kernels)"

_UNDESCRIBED_SQL: Final = """
INSERT INTO devices BY NAME
SELECT DISTINCT k.device, true AS used FROM kernels k ANTI JOIN devices d ON d.device = k.device
WHERE k.device IS NOT NULL
"""


def mark_used_devices(staging: Staging) -> None:
    """Mark the devices with activity in `devices`, with rows for those that the recording does not describe."""
    staging.connection.execute(_USED_SQL)
    staging.connection.execute(_UNDESCRIBED_SQL)
