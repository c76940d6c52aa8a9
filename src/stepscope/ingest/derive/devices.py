"""Mark used devices in table `devices`, and add those that the recording does not describe."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from stepscope.ingest.derive.activities import DerivedWork
from stepscope.store.staging import Staging

#: Distinct descriptions of devices.
_ALIKE_SQL: Final = "SELECT DISTINCT * EXCLUDE (device, used) FROM devices"


def mark_used_devices(staging: Staging, activities: DerivedWork) -> None:
    """Mark devices with activity in `devices`, and add rows for those without a description."""
    used = activities.device.unique().drop_null().to_pylist()
    if not used:
        return
    connection = staging.connection
    rows = connection.execute("SELECT device FROM devices").fetchall() if staging.may_have("devices") else []
    described = {device for (device,) in rows}
    if described & set(used):
        listed = ", ".join(map(str, used))
        connection.execute(f"UPDATE devices SET used = true WHERE device IN ({listed})")
    new = [device for device in used if device not in described]
    # A process that may use one device of many (HIP_VISIBLE_DEVICES) describes it as its first, and its activities have
    # the number that it has on the machine.
    known = _common(staging) if described and not described & set(used) else {}
    for device in new:
        row = {"device": pa.array([device], pa.int32()), "used": [True]}
        staging.insert("devices", pa.table({**known, **row}))


def _common(staging: Staging) -> dict[str, pa.Array]:
    """The description that all devices share, as one row; no columns if they differ."""
    found = staging.connection.sql(_ALIKE_SQL).to_arrow_table()
    alike = found.num_rows == 1 and bool(found.column("name")[0].as_py())
    return {name: found.column(name) for name in found.column_names} if alike else {}
