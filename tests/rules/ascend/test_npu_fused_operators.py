from __future__ import annotations

from dataclasses import replace

import pytest

from fusion_support import sequences
from operator_support import Program
from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Kind
from stepscope.model.program import Program as Told
from stepscope.signals import Signals
from stepscope.signals.kernels import npu_dropouts, npu_experts, npu_fusions
from stepscope.signals.kernels.fusions import Fusion
from stepscope.signals.shared import program as shared_program
from stepscope.signals.shared.idleness import waiting_for_host_share
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
WANTED = {
    one.name.rpartition(".")[2]: one
    for one in (
        npu_fusions.masked_softmaxes, npu_fusions.silu_gates, npu_fusions.gelu_gates, npu_fusions.routings,
        npu_fusions.added_norms, npu_fusions.added_biases, npu_fusions.rearrangements, npu_dropouts.dropouts,
        npu_dropouts.dropped_softmaxes, npu_experts.expert_loops,
    )
}  # fmt: skip


def given(**shares: float) -> dict[object, object]:
    """Signals of a job on an NPU with sequences that cost these shares of the step, and of all others none."""
    found: dict[object, object] = {}
    for name, wanted in WANTED.items():
        found |= sequences(wanted, shares.get(name, 0.0), "npu")
    return found


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
        signals = {**given(added_norms=0.2), shared_program.program: Told(kind)}
        assert len(drafts("ASC016", signals)) == count


def test_what_attention_is_made_of_is_left_to_attention() -> None:
    scores = ((8, 64, 64), (8, 64, 32))
    calls = (("aten::bmm", (8, 64, 32), (8, 32, 64)), ("aten::mul", scores[0]), ("aten::masked_fill", scores[0]),
             ("aten::_softmax", scores[0]), ("aten::bmm", *scores))  # fmt: skip
    assert recorded(calls)(npu_fusions.masked_softmaxes).count == 0


def test_it_names_the_operator_of_each_kind_that_costs_enough() -> None:
    shares = {**dict.fromkeys(WANTED, 0.0099), "masked_softmaxes": 0.2, "silu_gates": 0.01}
    first, second = drafts("ASC016", given(**shares))
    assert "npu_scaled_masked_softmax" in first.actions[0].after
    assert "npu_swiglu" in second.actions[0].after
    assert first.key != second.key


@pytest.mark.parametrize(
    ("name", "operator"),
    [("dropouts", "F.dropout"), ("dropped_softmaxes", "npu_dropout_with_add_softmax"),
     ("expert_loops", "npu_grouped_matmul")],
)  # fmt: skip
def test_dropout_and_experts_have_operators_too(name: str, operator: str) -> None:
    (draft,) = drafts("ASC016", given(**{name: 0.2}))
    assert operator in draft.actions[0].after


def test_experts_that_only_cost_the_host_are_shown_where_the_device_waits_for_it() -> None:
    loop = replace(sequences(npu_experts.expert_loops, 0.2)[npu_experts.expert_loops], after_ns=6_000,  # type: ignore[type-var]
                   host_ns=8_000, host_after_ns=2_000)  # fmt: skip
    for waits, count in ((0.05, 1), (0.049, 0)):
        signals = {**given(), npu_experts.expert_loops: loop, waiting_for_host_share: waits}
        found = drafts("ASC016", signals)
        assert len(found) == count
        assert all(one.most_ns == 2_000 for one in found)


def test_other_devices_have_other_operators() -> None:
    with pytest.raises(MissingInputError):
        recorded(KINDS["silu_gates"][0], reader="kineto")(npu_fusions.silu_gates)
    with pytest.raises(MissingInputError):
        drafts("ASC016", {})
