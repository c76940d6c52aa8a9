"""Threads of the host in traces of the XLA profiler, as JAX and TensorFlow write them: names and arguments tell.

Their process is called `/host:CPU`. Functions of Python are called `$api.py:2479 block_until_ready`, steps have the
argument `step_num`, and what XLA computes on the processor has `hlo_op`. Everything else is a range of the framework.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from stepscope.readers.kineto.metadata import recorded_name
from stepscope.readers.kineto.others.tensorflow import OF_TENSORFLOW, add_tensorflow, tensorflow_kind
from stepscope.readers.kineto.others.told_in_args import find, rename, told
from stepscope.store.staging import Staging

_PROCESS: Final = re.compile(r"^/host:CPU")
#: An event of metadata that says which devices there were, where a recording tells; it is of the process of the host.
DEVICES: Final = "devices"
NO_DEVICES: Final = "none"
#: What only JAX records, or the tracer of Python that belongs to the profiler.
_KNOWN: Final = re.compile(
    r"^(\$\S+:\d+ |PjitFunction\(|PjRt|CommonPjRt|Pj[Rr]t\w*Client|TfrtCpu|Xla\w+|ThunkExecutor)"
)

_NAMES_SQL: Final = """
SELECT DISTINCT n.name_id, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE e.category = 'other' AND t.kind = 'host' AND t.process IN (SELECT unnest(?))
"""
_CATEGORIES_SQL: Final = """
UPDATE raw_events SET category = k.category
FROM (SELECT unnest(?) AS name_id, unnest(?)::category AS category) k, tracks t
WHERE k.name_id = raw_events.name_id AND t.track = raw_events.track AND raw_events.category = 'other'
    AND t.kind = 'host' AND t.process IN (SELECT unnest(?))
"""
_TOLD_SQL: Final = """
UPDATE raw_events SET category = ? FROM {told} f, tracks t
WHERE f.id = raw_events.id AND t.track = raw_events.track AND raw_events.category = 'annotation' AND t.kind = 'host'
    AND t.process IN (SELECT unnest(?))
"""
#: Without their numbers all steps of a loop would have one name.
_NUMBERED_SQL: Final = f"""
SELECT e.id, n.name || ' #' || f.value AS name
FROM {told("step_num")} f JOIN raw_events e USING (id) JOIN names n USING (name_id)
WHERE e.category = 'step' AND regexp_full_match(f.value, '[0-9]+')
"""
_HAS_WORK_SQL: Final = "SELECT count(*) FROM raw_kernels"
_HAS_STEPS_SQL: Final = "SELECT count(*) > 0 FROM raw_events WHERE category = 'step'"


def add_xla_host(staging: Staging, metadata: Sequence[tuple[str, str, str, str]]) -> str | None:
    """Classify events of XLA's hosts; metadata are names of processes and threads, as recorded.

    Returns:
        None if there are none; else where operators on them ran, `cpu`, or nothing where there are no such operators.
    """
    hosts = [pid for kind, pid, _, args in metadata if kind == "process_name" and _PROCESS.match(recorded_name(args))]
    if not hosts:
        return None
    staging.write_tracks()
    names = staging.connection.execute(_NAMES_SQL, [hosts]).fetchall()
    of_tensorflow = any(OF_TENSORFLOW.match(name) for _, name in names)
    if not of_tensorflow and not any(_KNOWN.match(name) for _, name in names):
        return None
    kinds = [(of_tensorflow and tensorflow_kind(name)) or _kind(name) for _, name in names]
    staging.connection.execute(_CATEGORIES_SQL, [[number for number, _ in names], kinds, hosts])
    found = find(staging, "hlo_op", "long_name", "step_num")
    if computes := "hlo_op" in found:
        staging.connection.execute(_TOLD_SQL.format(told=told("hlo_op")), ["op", hosts])
    # Its operators run on devices, too: of JAX only what ran on the processor is among the host's events.
    if of_tensorflow and add_tensorflow(staging, hosts, metadata):
        computes |= any(kind == DEVICES and recorded_name(args) == NO_DEVICES for kind, _, _, args in metadata)
    # A device has a lane of its steps, which are the same.
    if staging.one(_HAS_STEPS_SQL) != (True,) and "step_num" in found:
        staging.connection.execute(_TOLD_SQL.format(told=told("step_num")), ["step", hosts])
        rename(staging, _NUMBERED_SQL)
    return "cpu" if computes and not staging.one(_HAS_WORK_SQL)[0] else ""


def _kind(name: str) -> str:
    return "python" if name.startswith("$") else "annotation"
