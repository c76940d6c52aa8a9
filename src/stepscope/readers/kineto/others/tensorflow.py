"""What TensorFlow does on a host, by names of its runtime: operators of graphs and single ones, and waits for batches.

An operator of a graph is called by its type, and `dense/MatMul:MatMul` in the argument `long_name`; one that Python
calls is in `EagerLocalExecute: MatMul`, as are whole graphs, whose names begin with `__inference_` and the like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.readers.kineto.metadata import recorded_name
from stepscope.readers.kineto.others.told_in_args import rename, told
from stepscope.store.staging import Staging

#: What only TensorFlow's runtime records.
OF_TENSORFLOW: Final = re.compile(
    r"^(TFE_Py_\w+|EagerLocalExecute: .+|EagerKernelExecute|KernelAndDeviceFunc::Run|ExecutorState::Process"
    r"|IteratorGetNextOp::DoCompute)$"
)
_CALLED: Final = "EagerLocalExecute: "
#: The operator that fetches a batch is told by what it does.
_OPERATOR: Final = re.compile(_CALLED + r"(?!__(inference|forward|backward)_|IteratorGetNext)")
#: Layers of the runtime around an operator or a graph: no ranges of the program, and no steps where they repeat.
_AROUND: Final = re.compile(
    r"^(TFE_\w+|Eager(Execute|LocalExecute: .*|KernelExecute|CopyToDevice)|ValidateInputTypeAndPlacement"
    r"|KernelAndDeviceFunc::Run|ExecutorState::.*|ExecutorDoneCallback|FunctionRun|ThreadpoolListener::\w+)$"
)
#: Threads that prepare batches, whose operators are none of the model.
_LOADS: Final = re.compile(r"^tf_data_")
#: A step waits in it for its next batch.
_BATCH: Final = re.compile(r"^IteratorGetNextOp::DoCompute$")

_OPERATORS_SQL: Final = f"""
UPDATE raw_events SET category = 'op' FROM {told("long_name")} f, names n, tracks t
WHERE f.id = raw_events.id AND n.name_id = raw_events.name_id AND t.track = raw_events.track
    AND raw_events.category = 'annotation' AND t.kind = 'host' AND t.process IN (SELECT unnest(?))
    AND NOT contains(n.name, ':') AND NOT starts_with(n.name, '__') AND ends_with(f.value, ':' || n.name)
    AND t.thread NOT IN (SELECT unnest(?))
"""
_CALLED_SQL: Final = f"""
SELECT e.id, n.name[{len(_CALLED) + 1}:] AS name FROM raw_events e JOIN names n USING (name_id)
WHERE e.category = 'op' AND starts_with(n.name, '{_CALLED}')
"""
_HAS_OPERATORS_SQL: Final = "SELECT count(*) > 0 FROM raw_events WHERE category = 'op'"


def tensorflow_kind(name: str) -> str | None:
    """The category of an event that its name tells; None if it tells none."""
    if _OPERATOR.match(name):
        return "op"
    if _BATCH.match(name):
        return "dataloader"
    return "other" if _AROUND.match(name) else None


def add_tensorflow(staging: Staging, hosts: list[str], metadata: Iterable[tuple[str, str, str, str]]) -> bool:
    """Take operators of graphs for what they are, by arguments found before; returns whether there are any operators.

    Args:
        staging: The staging area.
        hosts: Processes of the host.
        metadata: Names of processes and threads, as recorded.
    """
    preparing = [tid for kind, _, tid, args in metadata if kind == "thread_name" and _LOADS.match(recorded_name(args))]
    staging.connection.execute(_OPERATORS_SQL, [hosts, preparing])
    rename(staging, _CALLED_SQL)
    return staging.one(_HAS_OPERATORS_SQL) == (True,)
