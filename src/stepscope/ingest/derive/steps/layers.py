"""Distinguish a repeating layer from a repeating step.

Layers of one pass are as periodic as steps of a loop. Numbered ranges and modules distinguish them: each period of
layers lies in the next number (`blocks.8`, `blocks.9`, ...), each step passes through all. Without numbers, a step
still does what no layer does: it looks up or updates parameters, copies to or from the host, repeats its layers, or
(`sequences`) leaves the device idle before it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.inference import repeats
from stepscope.model.intervals import Times
from stepscope.model.kernel_names import classify
from stepscope.store.staging import Staging

#: Names of numbered parts of models: `layers.3`, `encoder.layer.3`, `transformer.h.3` or `DecoderLayer_3`.
_NUMBERED: Final = r"(?i)(layers?|blocks?|stages?|resnets|attentions|\bh)[._ \[]+(\d+)"
_NAMES_SQL: Final = f"""
SELECT regexp_replace(name, '{_NUMBERED}', '\1.#') AS kind,
    CAST(regexp_extract(name, '{_NUMBERED}', 2) AS BIGINT) AS number, e.ts
FROM raw_events e JOIN names USING (name_id) JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category IN ('annotation', 'module', 'op') AND regexp_matches(name, '{_NUMBERED}')
    AND length(regexp_extract(name, '{_NUMBERED}', 2)) <= 6
ORDER BY kind, e.ts
"""
#: Share of neighbouring periods that must be in neighbouring layers.
_LEAST: Final = 0.8
#: Kernels that look up rows of a table, as a step does for its tokens and a layer may for its positions.
_LOOK_UP: Final = "embedding"
#: Operators that look up parameters; where none is recorded, how many operators there are.
_LOOKED_UP_SQL: Final = r"""
SELECT count(*) FILTER (regexp_matches(name, '^aten::_?embedding(_bag)?$')), count(*)
FROM raw_events e JOIN names USING (name_id) WHERE e.category = 'op'
"""
#: Work that layers consist of.
_HEAVY: Final = ("gemm", "attention", "convolution")
#: A part that occurs this often in a period is a layer, so the period is a step.
_OFTEN: Final = 6
_ATTENTIONS_OF_A_BLOCK: Final = 2
_COPIES_SQL: Final = """
SELECT count(*) FROM raw_events e JOIN copies c ON c.event = e.id
WHERE c.direction IN ('HtoD', 'DtoH') AND e.ts >= ? AND e.ts < ?
"""


def does_what_layers_do_not(staging: Staging, period: NDArray[np.int64], starts: Times) -> bool:
    """Whether a period of kernels is a step: it contains work that no layer does.

    Args:
        staging: The recording.
        period: int64[n], names of the kernels of one period.
        starts: int64[k], start of each period's first kernel on the device in ns, ascending.
    """
    names = staging.connection.execute(
        "SELECT name_id, name FROM names WHERE list_contains($some, name_id)", {"some": np.unique(period).tolist()}
    ).fetchall()
    class_of = {name_id: classify(name).op_class for name_id, name in names}
    classes = set(class_of.values())
    heavy = np.array([class_of.get(name_id) in _HEAVY for name_id in period.tolist()], np.bool_)
    if "optimizer" in classes or repeats(period, heavy) >= _OFTEN:
        return True
    if _LOOK_UP in classes and _looks_up_parameters(staging, [name for _, name in names], starts.size):
        return True
    if _is_block(period, [name_id for name_id, op_class in class_of.items() if op_class == "attention"]):
        return False
    [copies] = staging.one(_COPIES_SQL, [int(starts[0]), int(starts[-1])])
    return bool(copies >= starts.size - 1)


def _is_block(period: NDArray[np.int64], attentions: list[int]) -> bool:
    """Whether a period attends as often as one block does: to itself, and to something else.

    Copies from and to the host show nothing then: tables of positions, offloaded weights and numbers that are read are
    copied by each block.
    """
    return 0 < int(np.isin(period, attentions).sum()) <= _ATTENTIONS_OF_A_BLOCK


def _looks_up_parameters(staging: Staging, names: list[str], periods: int) -> bool:
    """Whether kernels that look up rows do so for the tokens of a step, as operators tell where they are recorded."""
    looked_up, operators = staging.one(_LOOKED_UP_SQL)
    if looked_up:
        # The last step may be cut off before it.
        return bool(looked_up >= periods - 1)
    return not operators or any(_LOOK_UP in name.lower() for name in names)


def are_layers(staging: Staging, starts: Times) -> bool:
    """Whether periods are numbered layers, one after the other.

    Args:
        staging: The recording.
        starts: int64[n], start of each period on the host in ns, ascending.
    """
    rows = staging.connection.execute(_NAMES_SQL).fetchnumpy()
    kinds, number, ts = rows["kind"].astype(str), rows["number"].astype(np.int64), rows["ts"]
    period = np.searchsorted(starts, ts, side="right") - 1
    return any(_rise(period[mine], number[mine]) for mine in (kinds == kind for kind in np.unique(kinds)))


def _rise(period: NDArray[np.int64], number: NDArray[np.int64]) -> bool:
    """Whether each period has one number, and neighbours differ by one (backward counts down)."""
    seen, first = np.unique(period, return_index=True)
    same = all(np.unique(number[period == one]).size == 1 for one in seen.tolist())
    steps = np.diff(number[first])
    return same and seen.size >= 3 and bool(np.mean(np.abs(steps) == 1) >= _LEAST)
