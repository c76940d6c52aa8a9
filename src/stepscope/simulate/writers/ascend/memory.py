"""Memory: ``operator_memory.csv`` by block, ``memory_record.csv`` by component, ``npu_module_mem.csv`` by module."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from stepscope.simulate.records import Memory, Segment
from stepscope.simulate.writers.ascend import events
from stepscope.simulate.writers.ascend.host import Operator
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import MEMORY, RankPlace, micros

_BLOCKS = (
    "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
    "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),"
    "Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n"
)
_TOTALS = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\r\n"
#: Sampling interval of the memory of process and CANN modules, in ns.
_PERIOD = 20_000_000
#: Memory that CANN holds apart from the framework's, in bytes: measured in MB by the module that holds it.
_MODULES = {"SLOG": 0, "HCCL": 404 << 20, "RUNTIME": 128 << 20, "DEVMM": 96 << 20, "TBE": 0, "AICPU": 0}
STREAM: Final = 0xAAAA_2000
#: Parts of the framework whose memory is counted.
COMPONENTS: Final = ("PTA", "PTA+GE")


def _mb(size: int) -> float:
    return size / (1 << 20)


class BlockRow(NamedTuple):
    """A block taken during the recording, by what; ``freed`` is None if it was held at the end."""

    name: str
    taken: Memory
    freed: Memory | None


class Blocks:
    """Blocks in the order of taking; each waits for the release of those before it."""

    def __init__(self) -> None:
        self._rows: list[BlockRow] = []
        self._open: dict[int, int] = {}
        self._done = 0

    def add(self, records: list[Memory | Segment], operators: list[Operator]) -> list[BlockRow]:
        """Take a step's allocations and frees; frees of blocks from before the recording have no row."""
        owners = _Owners(operators)
        for record in records:
            if not isinstance(record, Memory):
                continue
            if record.bytes > 0:
                self._open[record.address] = self._done + len(self._rows)
                self._rows.append(BlockRow(owners.of(record), record, None))
            elif (index := self._open.pop(record.address, -1)) >= 0:
                self._rows[index - self._done] = self._rows[index - self._done]._replace(freed=record)
        return self._taken(next((i for i, row in enumerate(self._rows) if row.freed is None), len(self._rows)))

    def _taken(self, count: int) -> list[BlockRow]:
        found = self._rows[:count]
        del self._rows[:count]
        self._done += count
        return found

    def rest(self) -> list[BlockRow]:
        """The blocks that are left."""
        return self._taken(len(self._rows))


class OperatorMemory:
    """``operator_memory.csv``."""

    def __init__(self, place: RankPlace, output: Output) -> None:
        self._place = place
        self._file = output.open("operator_memory.csv")
        self._file.write(_BLOCKS)

    def write(self, blocks: list[BlockRow]) -> None:
        """Append rows."""
        self._file.write("".join(self._row(*block) for block in blocks))

    def _row(self, name: str, taken: Memory, freed: Memory | None) -> str:
        place = self._place
        before = f"{_mb(taken.allocated)},{_mb(taken.reserved)},{_mb(taken.allocated)}"
        times, after = ",,,", ",,"
        if freed is not None:
            lived, stamp = f"{micros(freed.ts - taken.ts)}\t", f"{place.stamp(freed.ts)}\t"
            times = f"{stamp},{stamp},{lived},{lived}"
            after = f"{_mb(freed.allocated)},{_mb(freed.reserved)},{_mb(freed.allocated)}"
        return (
            f"{name},{taken.bytes / 1024},{place.stamp(taken.ts)}\t,{times},{before},{after},{STREAM},"
            f"NPU:{place.device}\r\n"
        )


class _Owners:
    """Names the operator around an allocation, skipping those that only allocate."""

    def __init__(self, operators: list[Operator]) -> None:
        self._operators: tuple[list[Operator], list[Operator]] = ([], [])
        for operator in operators:
            self._operators[operator.thread].append(operator)
        self._starts = [[o.start for o in listed] for listed in self._operators]

    def of(self, record: Memory) -> str:
        """Its name; empty outside of operators."""
        index = bisect_right(self._starts[record.thread], record.ts) - 1
        operator = self._operators[record.thread][index] if index >= 0 else None
        while operator is not None and (operator.end < record.ts or operator.name == "empty_tensor"):
            operator = operator.parent
        return "" if operator is None else operator.name


class Samples:
    """Memory of the process and of CANN's modules every 20 ms."""

    def __init__(self, place: RankPlace) -> None:
        self._held = {name: size for name, size in _MODULES.items() if name != "HCCL" or place.job.ranks > 1}
        self._next = -1

    def until(self, time: int, reserved: int) -> Iterator[tuple[int, dict[str, int], int]]:
        """Each sample up to a time: when, bytes by module, and of the process, which the framework's are part of."""
        if self._next < 0:
            self._next = time
        while self._next <= time:
            yield self._next, {**self._held, "APP": reserved}, reserved + sum(self._held.values())
            self._next += _PERIOD


class MemoryRecord:
    """``memory_record.csv`` (at every change, and of the process at every sample) and ``npu_module_mem.csv``."""

    def __init__(self, place: RankPlace, output: Output) -> None:
        self._place = place
        self._file = output.open("memory_record.csv")
        self._file.write(_TOTALS)
        self._modules = output.open("npu_module_mem.csv")
        self._modules.write(f"{place.device_column}Component,Timestamp(us),Total Reserved(MB),Device\n")
        self._samples = Samples(place)

    def add(self, records: list[Memory | Segment], until: int) -> list[str]:
        """Take a step's changes up to a time; returns the samples that the trace shows, too."""
        samples: list[str] = []
        for record in records:
            if isinstance(record, Memory):
                samples += self._sample(record.ts, record.reserved)
                self._file.write("".join(self._total(component, record) for component in COMPONENTS))
        last = next((r for r in reversed(records) if isinstance(r, Memory)), None)
        return samples if last is None else [*samples, *self._sample(until, last.reserved)]

    def _total(self, component: str, r: Memory) -> str:
        held = f"{_mb(r.allocated)},{_mb(r.reserved)},{_mb(r.allocated)}"
        return f"{component},{self._place.stamp(r.ts)}\t,{held},{STREAM},NPU:{self._place.device}\r\n"

    def _sample(self, until: int, reserved: int) -> Iterator[str]:
        """Samples for every period up to a time, with the memory held then."""
        place = self._place
        for time, modules, whole in self._samples.until(until, reserved):
            stamp = place.stamp(time)
            self._file.write(f"APP,{stamp}\t,,{_mb(whole)},,,NPU:{place.device}\r\n")
            self._modules.write(
                "".join(
                    f"{place.device_cell}{name},{stamp}\t,{_mb(size)},NPU:{place.device}\n"
                    for name, size in modules.items()
                )
            )
            yield events.counter("APP/DDR", place.process(MEMORY), stamp, {"KB": 0.0})
            yield events.counter("APP/HBM", place.process(MEMORY), stamp, {"KB": whole / 1024})
