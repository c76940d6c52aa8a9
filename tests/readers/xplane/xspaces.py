"""Write an XSpace: the few messages of it, by number of their fields."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = str | int | float | bytes


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def message(*fields: tuple[int, Any]) -> bytes:
    """Fields by number: text, bytes, whole and other numbers; none for None."""
    out = b""
    for number, value in fields:
        if isinstance(value, str | bytes):
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif value is not None:
            out += varint(number << 3) + varint(value)
    return out


def of(name: str, start_ps: int | None, duration_ps: int = 0, /, **stats: Value) -> dict[str, Any]:
    """An event; without a start it stands for several."""
    return {"name": name, "start": start_ps, "dur": duration_ps, "stats": stats}


@dataclass
class PlaneWriter:
    """A plane; `short` are names that are shown for others, and `about` what is said of the plane."""

    name: str
    lines: Mapping[str, Sequence[dict[str, Any]]] = field(default_factory=dict)
    number: int = 0
    start_ns: int = 1_000
    short: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, Value] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)

    def message(self) -> bytes:
        lines = [(3, self._line(at, name, events)) for at, (name, events) in enumerate(self.lines.items(), 7)]
        about = [(6, self._stat(name, value)) for name, value in self.about.items()]
        events = [
            (4, message((1, at), (2, message((1, at), (2, name), (4, self.short.get(name))))))
            for name, at in self._names.items()
        ]
        stats = [(5, message((1, at), (2, message((1, at), (2, name))))) for name, at in self._numbers.items()]
        return message((1, self.number or None), (2, self.name), *lines, *events, *stats, *about)

    def _line(self, number: int, name: str, events: Sequence[dict[str, Any]]) -> bytes:
        return message((1, number), (2, name), (3, self.start_ns), *((4, self._event(event)) for event in events))

    def _event(self, event: dict[str, Any]) -> bytes:
        number = self._names.setdefault(event["name"], len(self._names) + 1)
        stats = [(4, self._stat(name, value)) for name, value in event["stats"].items()]
        several = 3 if event["start"] is None else None
        return message((1, number), (2, event["start"]), (3, event["dur"]), *stats, (5, several))

    def _stat(self, name: str, value: Value) -> bytes:
        key = self._number(name)
        if isinstance(value, str) and value.startswith("&"):
            return message((1, key), (7, self._number(value[1:])))
        kind = 5 if isinstance(value, str) else 6 if isinstance(value, bytes) else 2 if isinstance(value, float) else 4
        return message((1, key), (3 if kind == 4 and int(value) >= 2**63 else kind, value))

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)


def xspace(*planes: PlaneWriter, host: str = "node-3") -> bytes:
    return message(*((1, plane.message()) for plane in planes), (4, host))


def jax_job(steps: int = 4) -> bytes:
    """Steps of JAX on a processor, and what its profiler writes beside them."""
    python: list[dict[str, Any]] = []
    pool: list[dict[str, Any]] = []
    for number in range(steps):
        at = 10_000_000_000 * number
        python += [
            of("train", at, 9_000_000_000, step_num=number + 3, _r=1),
            of("PjitFunction(step)", at + 10_000_000, 500_000_000),
            of("$api.py:2479 block_until_ready", at + 600_000_000, 8_000_000_000),
        ]
        pool += [
            of("ThunkExecutor::Execute", at + 700_000_000, 7_000_000_000),
            of("dot.3", at + 800_000_000, 5_000_000_000, hlo_op="&dot.3", hlo_module="jit_step", program_id=7),
            of("fusion", at + 5_900_000_000, 1_000_000_000, hlo_op="&fusion"),
        ]
    lines = {"python": python, "tf_XLAPjRtCpuClient/7": pool}
    return xspace(
        PlaneWriter("/host:metadata", about={"jax_version": "0.10.2"}),
        PlaneWriter("/host:CPU", lines),
        PlaneWriter("Task Environment", about={"profile_start_time": 1_795_984_871_000_000_000}),
    )


def tensorflow_job(steps: int = 4, options: bytes = b"\x10\x02\x18\x01", *more: PlaneWriter) -> bytes:
    """Steps of TensorFlow on a processor: a batch, a graph whose operators run on a pool, and one that Python calls."""
    python: list[dict[str, Any]] = []
    pool: list[dict[str, Any]] = []
    for number in range(steps):
        at = 10_000_000_000 * number
        python += [
            of("train", at, 9_000_000_000, step_num=number, _r=1),
            of("EagerLocalExecute: IteratorGetNext", at + 5_000_000, 995_000_000),
            of("IteratorGetNextOp::DoCompute", at + 10_000_000, 980_000_000),
            of("Iterator::Root::Prefetch", at + 20_000_000, 900_000_000, name="&inject/prefetch"),
            of("step", at + 1_000_000_000, 6_000_000_000, tf_function_call="&notTraced-nonXla"),
            of("TFE_Py_ExecuteCancelable", at + 1_100_000_000, 5_800_000_000),
            of("EagerLocalExecute: __inference_step_14", at + 1_200_000_000, 5_700_000_000),
            of("EagerLocalExecute: MatMul", at + 7_200_000_000, 700_000_000),
            of("KernelAndDeviceFunc::Run", at + 7_300_000_000, 500_000_000),
        ]
        pool += [
            of("ExecutorState::Process", at + 2_000_000_000, 4_000_000_000, id=7),
            of("dense/MatMul:_MklMatMul", at + 2_100_000_000, 3_000_000_000),
            of("jit:__inference_f_3", at + 5_150_000_000, 800_000_000),
            of("dense/BiasAddGrad:BiasAddGrad", at + 5_200_000_000, 700_000_000),
        ]
    loads = [of("map/PyFunc:PyFunc", 10_000_000 + 10_000_000_000 * number, 800_000_000) for number in range(steps)]
    names = {
        name: name.split(":")[-1]
        for name in (
            "dense/MatMul:_MklMatMul",
            "dense/BiasAddGrad:BiasAddGrad",
            "map/PyFunc:PyFunc",
            "jit:__inference_f_3",
        )
    }
    names["Iterator::Root::Prefetch"] = "Iterator::Prefetch"
    return xspace(
        PlaneWriter(
            "/host:CPU", {"python": python, "tf_Compute/7": pool, "tf_data_iterator_resource/5": loads}, short=names
        ),
        *more,
        PlaneWriter("Task Environment", about={"profile_options": options}),
    )
