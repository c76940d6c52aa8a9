"""Tables derived from kernels: ``op_statistic.csv``, ``l2_cache.csv``, ``data_preprocess.csv``."""

from __future__ import annotations

from collections import defaultdict

from stepscope.simulate.writers.ascend import vocabulary
from stepscope.simulate.writers.ascend.device import DeviceTask
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import RankPlace, micros


class OpStatistic:
    """``op_statistic.csv``: kernels by type and core, the most time first."""

    def __init__(self, place: RankPlace) -> None:
        self._place = place
        self._sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 1 << 62, 0])

    def add(self, work: DeviceTask) -> None:
        """Count a kernel."""
        spent = work.end - work.start
        row = self._sums[vocabulary.op_type(work.spec), vocabulary.core(work.spec)]
        row[:] = row[0] + 1, row[1] + spent, min(row[2], spent), max(row[3], spent)

    def write(self, output: Output) -> None:
        """Write the file."""
        whole = sum(row[1] for row in self._sums.values()) or 1
        names = "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
        lines = [f"{self._place.device_column}{names}\n"]
        for (kind, core), (count, total, least, most) in sorted(
            self._sums.items(), key=lambda item: (-item[1][1], item[0])
        ):
            lines.append(
                f"{self._place.device_cell}{kind},{core},{count},{total / 1000},{least / 1000},"
                f"{round(total / count / 1000, 3)},{most / 1000},{round(100 * total / whole, 3)}\n"
            )
        output.write("op_statistic.csv", "".join(lines))


class CacheRates:
    """``l2_cache.csv``: hit and victim rates of the L2 cache."""

    def __init__(self, place: RankPlace, output: Output) -> None:
        self._device = place.device_cell
        self._file = output.open("l2_cache.csv")
        self._file.write(f"{place.device_column}Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n")

    def add(self, work: DeviceTask) -> None:
        """Append a row: the larger what a kernel moves against a cache of 192 MiB, the less of it is found there."""
        fill = min(1.0, work.spec.bytes / (192 << 20))
        rates = f"{round(0.95 - 0.6 * fill, 6)},{round(0.01 + 0.4 * fill, 6)}"
        self._file.write(f"{self._device}{work.stream},{work.number % 65536},{rates},{work.spec.name}\n")


class AiCpuTimes:
    """``data_preprocess.csv``: what the device's own processor worked on; there is none where nothing ran on it."""

    def __init__(self, place: RankPlace) -> None:
        self._place = place
        self._lines: list[str] = []

    def add(self, work: DeviceTask) -> None:
        """Append a row, if the kernel ran there: an eighth of its time goes to dispatching it, another to copying."""
        if vocabulary.core(work.spec) != "AI_CPU":
            return
        spent = work.end - work.start
        part = spent // 8
        self._lines.append(
            f"{self._place.device_cell}{self._place.stamp(work.start)},{work.spec.name},{micros(spent - 2 * part)},"
            f"{micros(part)},{micros(spent - part)},{micros(part)},{micros(spent)},{work.stream},"
            f"{work.number % 65536}\n"
        )

    def write(self, output: Output) -> None:
        """Write the file, if there is anything in it."""
        header = (
            f"{self._place.device_column}Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),Total_time(us),"
            "Stream ID,Task ID\n"
        )
        if self._lines:
            output.write("data_preprocess.csv", header + "".join(self._lines))
