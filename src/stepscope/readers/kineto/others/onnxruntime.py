"""Profiles of ONNX Runtime: an event per node, whose arguments tell its operator and what ran it."""

from __future__ import annotations

from typing import Final

from stepscope.readers.kineto.others.told_in_args import find, rename, told
from stepscope.store.staging import Staging

#: It records this around each run, below `model_run`; torch.profiler names what it adds otherwise.
_RUNS_SQL: Final = "SELECT count(*) > 0 FROM names WHERE name = 'SequentialExecutor::Execute'"
#: A node's own name comes second: graphs have many nodes of one operator, and nodes need not have a name.
_NAMES_SQL: Final = f"""
SELECT e.id, coalesce(nullif(trim(concat(f.value, ' ', replace(n.name, '_kernel_time', ''))), ''), n.name) AS name
FROM raw_events e JOIN names n USING (name_id) LEFT JOIN {told("op_name")} f USING (id)
WHERE e.category = 'op' AND ends_with(n.name, '_kernel_time')
"""
_PROVIDERS_SQL: Final = f"""
SELECT DISTINCT f.value FROM {told("provider")} f JOIN raw_events e USING (id)
WHERE e.category = 'op' AND f.value <> '' ORDER BY 1
"""
_PROCESSOR: Final = "CPUExecutionProvider"


def is_of_onnxruntime(staging: Staging) -> bool:
    """Whether ONNX Runtime's own profiler wrote what is staged."""
    return staging.one(_RUNS_SQL) == (True,)


def add_onnxruntime(staging: Staging) -> str:
    """Call nodes by their operators.

    Returns:
        Where they ran: `cpu`, or what provides the device; empty if that is not recorded.
    """
    found = find(staging, "op_name", "provider")
    rename(staging, _NAMES_SQL)
    if "provider" not in found:
        return ""
    providers = [provider for (provider,) in staging.connection.execute(_PROVIDERS_SQL).fetchall()]
    devices = [provider for provider in providers if provider != _PROCESSOR]
    return devices[0] if devices else "cpu" if providers else ""
