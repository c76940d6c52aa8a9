"""Which of the described devices are used, and which are used without being described."""

from __future__ import annotations

import pyarrow as pa

from stepscope.ingest.derive.activities import Activities
from stepscope.store.staging import Staging


def mark_used_devices(staging: Staging, activities: Activities) -> None:
    """Mark the devices with activity in `devices`, with rows for those that the recording does not describe."""
    used = activities.device.unique().drop_null().to_pylist()
    if not used:
        return
    connection = staging.connection
    described = {device for (device,) in connection.execute("SELECT device FROM devices").fetchall()}
    if described & set(used):
        listed = ", ".join(map(str, used))
        connection.execute(f"UPDATE devices SET used = true WHERE device IN ({listed})")
    new = [device for device in used if device not in described]
    if new:
        staging.insert("devices", pa.table({"device": pa.array(new, pa.int32()), "used": [True] * len(new)}))
