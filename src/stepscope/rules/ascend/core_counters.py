"""Counters of cores show a cube unit that waits, vectors in fp32, or a scalar unit that moves the data.

## What it finds
By the counters of an NPU's cores beside those of their pipes (`aic_metrics`): matrix kernels whose cube unit computes
for less than half of their time though their operands would keep it busy (ArithmeticUtilization), vector kernels that
compute in fp32 nearly all the time (ArithmeticUtilization), and kernels in which the scalar unit moves most of what
enters and leaves the unified buffer (MemoryUB).

## Why it matters
A cube unit multiplies 16 x 16 x 16 half-precision numbers per cycle; the kernel takes longer by what it waits. A vector
instruction works on 256 bytes: 64 numbers in fp32, 128 in fp16. The scalar unit moves one number at a time, where
vectors and copies move whole blocks.

## How it decides
Kernels with `min_share` of the step.

* Cube: operands in fp16 or int8, which are what is counted (`mac_fp16_ratio`, `mac_int8_ratio`); at least
  `min_intensity` FLOPs per byte of operands, so that memory is not what limits it; busy for less than `max_busy`. The
  price is what the step would save if the cube were busy for `bound`.
* Vectors: operands in fp32, and instructions in fp32 for `bound` of the time and more. Half of the instructions would
  do in fp16. It is advice: what the change of type does to results is the program's to decide.
* Scalars: `scalar` of the bytes to and from the buffer are moved by the scalar unit. It is advice.

## What to try
Cube: sizes that are multiples of 256 in the inner dimension, larger tiles, `FRACTAL_NZ` operands; the other sets of
counters say what it waits for. Vectors: fp16. Scalars: whole vectors and copies in place of `GetValue` and `SetValue`.

## Known limits
One set of counters is recorded at a time. What is read of L0 (MemoryL0) and how often L2 hits (L2Cache) are in table
`core_metrics`; hits decide KRN022. Kernels with operands in bf16 may compute in fp32, and do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.inspecting import about
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import need_ascend
from stepscope.signals.kernels.inspected import Inspected, inspected

_MATRICES: Final = ("gemm", "convolution", "attention")
#: Operands whose multiplications are counted.
_COUNTED: Final = ("fp16", "int8")
_TILES: Final = Action(
    "Give the cube whole tiles, and its operands in the order in which it reads them",
    before="weight = nn.Parameter(torch.empty(n, 1000))",
    after="weight = nn.Parameter(torch.empty(n, 1024))   # multiples of 256\n"
    "weight = torch_npu.npu_format_cast(weight, 29)   # FRACTAL_NZ, for inference\n"
    "# what it waits for: aic_metrics=AiCMetrics.PipeUtilization, then Memory",
    page="npu-operators",
)
_HALF: Final = Action(
    "Compute in fp16, of which a vector instruction takes twice as many",
    before="y = f(x.float())",
    after="y = f(x.half())   # where its range and 11 bits suffice",
    page="npu-operators",
    needs=("pytorch",),
)
_HALF_CALLS: Final = Action(
    "Compute in fp16, of which a vector instruction takes twice as many",
    before="AscendC::LocalTensor<float> x = queue.DeQue<float>();",
    after="AscendC::LocalTensor<half> x = queue.DeQue<half>();   // where its range and 11 bits suffice",
    page="npu-operators",
    needs=("native", "npu"),
)
_WHOLE: Final = Action(
    "Move and compute whole vectors in place of single elements",
    before="for (int i = 0; i < n; i++) c.SetValue(i, a.GetValue(i) + b.GetValue(i));",
    after="AscendC::Add(c, a, b, n);   // TileLang: T.copy and T.tile.add in place of T.serial",
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at each kernel with counters."""
    need_ascend(s)
    for one in s(inspected):
        if one.share >= limits["min_share"]:
            yield from (*_cube(one, limits), *_vectors(one, limits), *_scalars(one, limits))


def _cube(one: Inspected, limits: Limits) -> Iterator[Draft]:
    busy = one.values.get("cube_busy")
    if busy is None or one.op_class not in _MATRICES or one.dtype not in _COUNTED or one.intensity is None:
        return
    if one.intensity < limits["min_intensity"] or not 0 < busy < limits["max_busy"]:
        return
    draft = about(
        one, said("The cube units wait in matrix kernels"),
        said("its cube units compute for {busy} of its time, though each byte of its operands serves {intensity:,.0f} "
             "FLOPs", busy=percent(busy), intensity=one.intensity), (_TILES,), 0.6, limits, cube_busy=busy,
    )  # fmt: skip
    left = busy / limits["bound"]
    yield replace(
        draft, change=Change(device=(Scaled(one.events, left),)), most_ns=round(one.ns_per_step * (1 - left)),
        taken_ns=None, key=f"cube {one.name}",
    )  # fmt: skip


def _vectors(one: Inspected, limits: Limits) -> Iterator[Draft]:
    share = one.values.get("vector_fp32")
    if share is None or share < limits["bound"] or one.dtype != "fp32":
        return
    yield replace(
        about(
            one, said("Vector kernels are bound by arithmetic in fp32"),
            said("its vector units compute in fp32 for {share} of its time", share=percent(share)),
            (_HALF, _HALF_CALLS), 0.6,
            limits, vector_fp32=share,
        ),
        key=f"fp32 {one.name}",
    )  # fmt: skip


def _scalars(one: Inspected, limits: Limits) -> Iterator[Draft]:
    scalar, vector = one.values.get("buffer_scalar"), one.values.get("buffer_vector")
    if scalar is None or vector is None or scalar <= 0 or scalar < limits["scalar"] * (scalar + vector):
        return
    share = scalar / (scalar + vector)
    yield replace(
        about(
            one, said("The scalar unit moves most of a kernel's data"),
            said("{share} of what enters and leaves its unified buffer is moved by the scalar unit, one number at a "
                 "time", share=percent(share)), (_WHOLE,), 0.7, limits, scalar_share=share,
        ),
        key=f"scalar {one.name}",
    )  # fmt: skip


RULE = Rule(
    "ASC018",
    "core-counters",
    thresholds=(
        Threshold("min_share", 0.02, "share", "Less is not worth looking into."),
        Threshold(
            "max_busy",
            0.5,
            "share",
            "As for ASC007: below half there is something to gain beyond doubt.",
        ),
        Threshold("bound", 0.8, "share", "Ratio at which msprof-analyze calls an operator bound by a unit."),
        Threshold(
            "min_intensity",
            320,
            "FLOP/byte",
            "In half precision Ascend 910B3 balances at 184 FLOPs per byte of its memory, 910B4 at 307.",
        ),
        Threshold("scalar", 0.5, "share", "Most of the data."),
    ),
    check=check,
)
