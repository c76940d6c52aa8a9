"""``operator_details.csv``: host and device time of every operator, without times of day."""

from __future__ import annotations

import csv

from stepscope.simulate.writers.ascend import vocabulary
from stepscope.simulate.writers.ascend.host import Operator
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import RankPlace

_HEADER = (
    "Name", "Input Shapes", "Call Stack", "Host Self Duration(us)", "Host Total Duration(us)",
    "Device Self Duration(us)", "Device Total Duration(us)", "Device Self Duration With AICore(us)",
    "Device Total Duration With AICore(us)",
)  # fmt: skip


class OperatorDetails:
    """A row per operator in the order of time; whole steps are left out."""

    def __init__(self, place: RankPlace, output: Output) -> None:
        self._shapes = place.job.record_shapes
        self._rows = csv.writer(output.open("operator_details.csv"), lineterminator="\n")
        self._rows.writerow(_HEADER)

    def add(self, operators: list[Operator]) -> None:
        """Append rows."""
        self._rows.writerows([self._row(o) for o in operators if not o.is_step])

    def _row(self, o: Operator) -> tuple[str | float, ...]:
        shapes = ""
        if self._shapes and o.spec is not None and o.name != "empty_tensor":
            shapes = vocabulary.shapes(o.spec.inputs).replace("\r", "")
        spent = o.end - o.start
        times = (spent - o.inner_ns, spent, o.own_ns, o.total_ns, o.own_core_ns, o.total_core_ns)
        return (o.name, shapes, o.stack.replace("\r", ""), *(time / 1000 for time in times))
