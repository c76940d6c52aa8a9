from __future__ import annotations

import pytest

from fusion_support import sequences
from operator_support import Program
from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Kind
from stepscope.model.program import Program as Told
from stepscope.signals import Signals
from stepscope.signals.kernels import npu_fusions
from stepscope.signals.kernels.fusions import Fusion
from stepscope.signals.shared import program as shared_program
from stepscope.signals.signal import Signal

X, WEIGHT, VECTOR, HALF = (4096, 1024), (1024, 1024), (1024,), (4096, 512)

KINDS = {
    "masked_softmaxes": (
        (("aten::mul", X), ("aten::masked_fill", X), ("aten::_softmax", X)),
        (("aten::mul", HALF), ("aten::masked_fill", X), ("aten::_softmax", X)),
    ),
    "silu_gates": ((("aten::silu", X), ("aten::mul", X)), (("aten::relu", X), ("aten::mul", X))),
    "gelu_gates": ((("aten::gelu", X), ("aten::mul", X)), (("aten::silu", X), ("aten::mul", X))),
    "added_biases": (
        (("aten::mm", X, WEIGHT), ("aten::add", X, VECTOR)),
        (("aten::mm", X, WEIGHT), ("aten::add", X, X)),
    ),
}


SCORES = (4096, 64)


def recorded(calls: tuple[tuple[object, ...], ...], reader: str = "ascend") -> Signals:
    program = Program()
    for number in range(2):
        start = program.now
        for name, *shapes in calls:
            program.call(name, *shapes, dur=20_000)  # type: ignore[arg-type]
        program.call("aten::cumsum", X, dur=20_000)
        program.wait()
        program.facts.step(number, start, program.now - start)
    return Signals.of(program.facts.trace(reader=reader))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_told_from_what_looks_like_it(kind: str) -> None:
    wanted: Signal[Fusion] = getattr(npu_fusions, kind)
    has, lacks = KINDS[kind]
    found = recorded(has)(wanted)
    assert (found.count, found.after_ns) == (2, 40_000)
    assert recorded(lacks)(wanted).count == 0


def test_routers_and_norms_are_told_by_the_kernel_that_ends_them() -> None:
    for wanted, first, last in (
        (npu_fusions.routings, "aten::_softmax", "aten::topk"),
        (npu_fusions.added_norms, "aten::add", "npu::npu_rms_norm"),
    ):
        program = Program()
        program.call(first, SCORES, dur=20_000)
        program.call(last, SCORES, dur=20_000, kernel={"aten::topk": "TopKV2", "npu::npu_rms_norm": "RmsNorm"}[last])
        program.facts.step(0, 0, program.now)
        assert Signals.of(program.facts.trace(reader="ascend"))(wanted).count == 1


@pytest.mark.parametrize(
    ("kernels", "count"),
    [
        (("aclnnInplaceCopy_TransposeAiCore_Transpose", "aclnnInplaceCopy_TensorMoveAiCore_TensorMove"), 1),
        (("aclnnInplaceCopy_TransposeAiCore_Transpose", "aclnnCast_CastAiCore_Cast"), 0),
        (("aclnnInplaceCopy_TransposeAiCore_Transpose", "aclnnAdd_AddAiCore_Add"), 0),
    ],
)
def test_a_tensor_that_is_put_into_another_order_twice(kernels: tuple[str, str], count: int) -> None:
    program = Program()
    for kernel in kernels:
        name = "aten::add" if "Add" in kernel else "aten::copy_"
        program.call(name, X, dur=20_000, kernel=kernel)
    program.facts.step(0, 0, program.now)
    assert Signals.of(program.facts.trace(reader="ascend"))(npu_fusions.rearrangements).count == count


def test_a_sampler_is_no_router_and_a_bias_no_mask() -> None:
    for choices, count in ((512, 1), (513, 0), (32_000, 0)):
        program = Program()
        program.call("aten::_softmax", (4096, choices), dur=20_000)
        program.call("aten::topk", (4096, choices), dur=20_000, kernel="TopKV2")
        program.facts.step(0, 0, program.now)
        assert Signals.of(program.facts.trace(reader="ascend"))(npu_fusions.routings).count == count
    biased = (("aten::mul", X), ("aten::add", X), ("aten::_softmax", X))
    assert recorded(biased)(npu_fusions.masked_softmaxes).count == 0


def test_what_has_no_backward_pass_is_no_advice_for_training() -> None:
    kinds: tuple[tuple[Kind, int], ...] = (("training", 0), ("unknown", 0), ("inference", 1))
    for kind, count in kinds:
        given = sequences(npu_fusions.added_norms, 0.2, "npu")
        for other in ("masked_softmaxes", "silu_gates", "gelu_gates", "routings", "added_biases", "rearrangements"):
            given |= sequences(getattr(npu_fusions, other), 0.0, "npu")
        assert len(drafts("ASC016", {**given, shared_program.program: Told(kind)})) == count


def test_what_attention_is_made_of_is_left_to_attention() -> None:
    scores = ((8, 64, 64), (8, 64, 32))
    calls = (("aten::bmm", (8, 64, 32), (8, 32, 64)), ("aten::mul", scores[0]), ("aten::masked_fill", scores[0]),
             ("aten::_softmax", scores[0]), ("aten::bmm", *scores))  # fmt: skip
    assert recorded(calls)(npu_fusions.masked_softmaxes).count == 0


def test_it_names_the_operator_of_each_kind_that_costs_enough() -> None:
    given = sequences(npu_fusions.masked_softmaxes, 0.2, "npu") | sequences(npu_fusions.silu_gates, 0.01, "npu")
    for other in ("gelu_gates", "routings", "added_norms", "added_biases", "rearrangements"):
        given |= sequences(getattr(npu_fusions, other), 0.0099, "npu")
    first, second = drafts("ASC016", given)
    assert "npu_scaled_masked_softmax" in first.actions[0].after
    assert "npu_swiglu" in second.actions[0].after
    assert first.key != second.key


def test_other_devices_have_other_operators() -> None:
    with pytest.raises(MissingInputError):
        recorded(KINDS["silu_gates"][0], reader="kineto")(npu_fusions.silu_gates)
    with pytest.raises(MissingInputError):
        drafts("ASC016", {})
