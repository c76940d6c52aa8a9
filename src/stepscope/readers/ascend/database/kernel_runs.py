"""Durations of kernels by their operands, from a rank's database."""

from __future__ import annotations

from typing import Any, Final

from stepscope.model.sums.kernels import KernelKey, RunDurations
from stepscope.readers.ascend.database.tables import AscendDatabase

_DESCRIPTION: Final = ("globalTaskId", "name", "inputShapes", "inputDataTypes", "outputShapes")


def kernels_in(database: AscendDatabase) -> dict[KernelKey, RunDurations] | None:
    """Durations of the kernels whose operands are recorded, on each device; None if that takes reading it as a whole.

    Steps of kernels are not recorded here.
    """
    tables = [
        database.rows(table, *columns)
        for table, columns in (
            ("STRING_IDS", ("id", "value")),
            ("COMPUTE_TASK_INFO", _DESCRIPTION),
            ("TASK", ("globalTaskId", "startNs", "endNs", "deviceId")),
        )
    ]
    strings, tasks, runs = tables
    texts = {number: None if text == "N/A" else text for number, text in strings}
    described = {task: [texts.get(code) for code in codes] for task, *codes in tasks}
    found: dict[KernelKey, RunDurations] = {}
    for task, start, end, device in runs:
        key = _key(described.get(task), device)
        if key is None or start is None or end is None:
            continue
        if type(start) is not int or type(end) is not int:
            return None
        found.setdefault(key, RunDurations()).add(end - start)
    keys = (len(texts), len(described), len({task for task, *_ in runs}))
    whole = all(unique == len(rows) for unique, rows in zip(keys, tables, strict=True))
    return found if whole and database.is_whole else None


def _key(words: list[Any] | None, device: Any) -> KernelKey | None:
    """The key of a kernel; None if an operand is not recorded."""
    if words is None:
        return None
    name, inputs, dtypes, outputs = words
    if inputs is None or dtypes is None or outputs is None:
        return None
    return KernelKey(name or "task", inputs, dtypes, outputs, device if type(device) is int else None, None)
