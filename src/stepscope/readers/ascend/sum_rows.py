"""Rows of table `recorded` from `communication.json` and `communication_matrix.json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepscope.model.sums.rank import SumRow
from stepscope.readers.ascend.csvfile import FACTORS
from stepscope.readers.ascend.tables.limits import real


def communication_rows(value: dict[str, Any]) -> tuple[list[SumRow], dict[str, str]]:
    """The numbers of `communication.json`, and the full group name by operation."""
    rows: list[SumRow] = []
    groups: dict[str, str] = {}
    for step, kind, name, operation in _operations(value):
        bare, at, group = name.partition("@")
        if at:
            groups[bare] = group
        for title, numbers in operation.items():
            if title == "Communication Time Info":
                rows += _numbers("communication", step, f"{kind} {name}", numbers)
            elif isinstance(numbers, dict):
                for transport, details in numbers.items():
                    rows += _numbers("bandwidth", step, f"{kind} {name} {transport}", details)
                    rows += list(_packets(step, f"{kind} {name} {transport}", details))
    return rows, groups


def matrix_rows(value: dict[str, Any]) -> list[SumRow]:
    """The numbers of `communication_matrix.json`: a subject is an operation and a link (`0-1`).

    Kinds of operations name the operation that they are about: it is stored in the metric's place.
    """
    rows: list[SumRow] = []
    for step, kind, name, links in _operations(value):
        for link, numbers in links.items():
            transport = numbers.get("Transport Type") if isinstance(numbers, dict) else None
            subject = f"{kind} {name} {link} {transport or ''}".strip()
            rows += _numbers("matrix", step, subject, numbers)
            if isinstance(numbers, dict) and isinstance(numbers.get("Op Name"), str):
                rows.append(("matrix operation", step or None, subject, numbers["Op Name"], 1.0))
    return rows


def _operations(value: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield (step, p2p or collective, operation, its values)."""
    for step, kinds in value.items():
        for kind, operations in kinds.items() if isinstance(kinds, dict) else ():
            for name, details in operations.items() if isinstance(operations, dict) else ():
                if isinstance(details, dict):
                    yield step.removeprefix("step"), kind, name, details


def _numbers(source: str, step: str, subject: str, numbers: Any) -> Iterator[SumRow]:
    for metric, value in numbers.items() if isinstance(numbers, dict) else ():
        # New versions may add words; under the name of an amount a word is damage.
        if metric.endswith(tuple(FACTORS)) or isinstance(value, (int, float)):
            yield source, step or None, subject, metric, real(value)


def _packets(step: str, subject: str, details: Any) -> Iterator[SumRow]:
    sizes = details.get("Size Distribution") if isinstance(details, dict) else None
    for size, pair in sizes.items() if isinstance(sizes, dict) else ():
        if isinstance(pair, list) and len(pair) == 2:
            yield "packets", step or None, f"{subject} {size} MB", "Count", real(pair[0])
            yield "packets", step or None, f"{subject} {size} MB", "Duration(ms)", real(pair[1])
