from __future__ import annotations

import pytest

from operator_support import Program
from stepscope.signals import Signals
from stepscope.signals.shared.operations import operations
from stepscope.signals.shared.patterns import sequences
from support import Facts

X, ROW = (64, 256), (64, 1)


def found(program: Program | Facts) -> dict[str, list[str]]:
    """Letters of each sequence, by kind."""
    s = Signals.of((program if isinstance(program, Facts) else program.facts).trace())
    w = s(operations)
    return {
        kind: [w.letters[a : b + 1] for a, b in zip(ranges.first.tolist(), ranges.last.tolist(), strict=True)]
        for kind, ranges in s(sequences).items()
        if ranges.first.size
    }


def calls(*steps: tuple[str, tuple[int, ...]]) -> Program:
    program = Program()
    for name, shape in steps:
        program.call(f"aten::{name}", shape)
    return program


def test_attention_forward_and_backward() -> None:
    program = Program()
    program.attention(4, 32, 16)
    program.call("aten::native_layer_norm", (4, 32, 16))
    program.attention_backward(4, 32, 16)
    assert found(program) == {"attention": ["PmSP"], "attention_backward": ["PPTmPP"]}


def test_attention_with_a_softmax_that_is_written_out() -> None:
    program = Program()
    scores = (4, 32, 32)
    program.call("aten::bmm", (4, 32, 16), (4, 16, 32))
    for name in ("mul", "where", "amax", "sub", "exp", "sum", "div"):
        program.call(f"aten::{name}", scores)
    program.call("aten::bmm", scores, (4, 32, 16))
    assert found(program) == {"attention": ["PmwXaEUdP"]}


def test_a_softmax_of_another_size_than_the_gemm_is_no_attention() -> None:
    program = Program()
    program.call("aten::mm", (64, 16), (16, 256))
    program.call("aten::_softmax", (64, 100))
    program.call("aten::mm", (64, 100), (100, 16))
    assert found(program) == {}


def test_a_router_s_softmax_is_no_attention() -> None:
    program = Program()
    program.call("aten::mm", (64, 16), (16, 8))
    program.call("aten::_softmax", (64, 8))
    program.call("aten::topk", (64, 8))
    program.call("aten::mm", (64, 16), (16, 16))
    assert found(program) == {}


@pytest.mark.parametrize(("depth", "expected"), [(8, {"attention": ["PSP"]}), (1, {})])
def test_without_shapes_the_gemms_must_be_of_a_batch(depth: int, expected: dict[str, list[str]]) -> None:
    facts = Facts()
    gemm = {"grid": [4, 4, depth], "block": [128, 1, 1]}
    names = (("ampere_sgemm_128x64_tn", gemm), ("SoftmaxV2", {}), ("ampere_sgemm_128x64_nn", gemm))
    for number, (name, launch) in enumerate(names):
        facts.kernel(name, number * 100, 50, **launch)
    assert found(facts) == expected


@pytest.mark.parametrize("depth", [8, 1])
@pytest.mark.parametrize("lacking", [0, 2])
def test_shapes_of_one_gemm_do_not_tell_what_the_other_multiplies(lacking: int, depth: int) -> None:
    program = Program()
    calls = [("bmm", (4, 32, 16), (4, 16, 32)), ("_softmax", (4, 32, 32)), ("bmm", (4, 32, 32), (4, 32, 16))]
    for number, (name, *shapes) in enumerate(calls):
        told = () if number == lacking else shapes
        program.call(f"aten::{name}", *told, grid=[4, 4, depth], block=[128, 1, 1])
    assert found(program) == ({"attention": ["PSP"]} if depth > 1 else {})


@pytest.mark.parametrize(
    "steps",
    [
        # Llama's: x.float(), square, mean, epsilon, root, x * root, back to 16 bits, weight.
        ("copy_", "pow", "mean", "add_row", "rsqrt_row", "mul", "copy_", "mul"),
        # (x - mean) / sqrt(mean square + eps) * weight + bias
        ("mean", "sub", "pow", "mean", "add_row", "sqrt_row", "div", "mul", "add"),
        # (x - mean) / (standard deviation + eps)
        ("mean", "std", "sub", "add_row", "sqrt_row", "div"),
    ],
)
def test_normalisation(steps: tuple[str, ...]) -> None:
    program = Program()
    for step in steps:
        program.call(f"aten::{step.removesuffix('_row')}", ROW if step.endswith("_row") else X)
    (kind,) = found(program)
    assert kind == "norms"


def test_a_root_of_whole_rows_is_no_normalisation() -> None:
    names = ("pow", "mean", "add", "rsqrt", "mul", "mul")
    assert "norms" not in found(calls(*((name, X) for name in names)))


@pytest.mark.parametrize(
    "steps",
    [
        (("mul", X), ("neg", (64, 128)), ("cat", X), ("mul", X), ("add", X)),
        (("neg", (64, 128)), ("cat", X), ("mul", X), ("mul", X), ("add", X)),
        (("mul", X), ("mul", X), ("sub", X), ("mul", X), ("mul", X), ("add", X)),
    ],
)
def test_rotary_embedding(steps: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
    assert list(found(calls(*steps))) == ["rotary"]


def test_what_is_negated_must_be_half() -> None:
    assert "rotary" not in found(calls(("mul", X), ("neg", X), ("cat", X), ("mul", X), ("add", X)))


def test_losses() -> None:
    assert found(calls(("_softmax", X), ("log", X), ("gather", ROW))) == {"losses": ["SG"]}
    assert found(calls(("amax", X), ("sub", X), ("exp", X), ("sum", X), ("log", (64,)))) == {"losses": ["XaEUG"]}
    assert found(calls(("_log_softmax", X), ("nll_loss_forward", X))) == {}
    assert found(calls(("_softmax", X), ("log", (64, 100)))) == {}


def test_gelu_by_its_formula() -> None:
    names = ("pow", "mul", "add", "mul", "tanh", "add", "mul", "mul")
    assert found(calls(*((name, X) for name in names))) == {"activations": ["Wmamtamm"]}


def test_one_operator_is_no_sequence() -> None:
    assert found(calls(("mm", X), ("gelu", X), ("mm", X), ("relu", X), ("add", X), ("mm", X))) == {}


def test_repeated_activations_count_from_four() -> None:
    assert found(calls(*[("gelu", X)] * 4)) == {"activations": ["AAAA"]}
    assert found(calls(*[("gelu", X)] * 3)) == {"runs": ["AAA"]}


def test_activations_with_copies_alone_between_them_are_several() -> None:
    assert found(calls(*[("copy_", X), ("relu", X)] * 2)) == {"runs": ["cAcA"]}
    assert found(calls(*[("copy_", X), ("relu", X)] * 2, ("mul", X))) == {"activations": ["cAcAm"]}


def test_runs_are_of_three_pointwise_operations_on_equally_many_elements() -> None:
    assert found(calls(("mul", X), ("add", X), ("copy_", X))) == {"runs": ["mac"]}
    assert found(calls(("mul", X), ("add", X))) == {}
    assert found(calls(("mul", X), ("add", X), ("add", (64, 512)))) == {}


def test_copies_next_to_each_other_may_be_of_unrelated_tensors() -> None:
    assert found(calls(*[("copy_", X)] * 5)) == {}
    assert found(calls(("copy_", X), ("copy_", X), ("add", X))) == {}


def test_updates_of_parameters_are_left_to_the_optimizer_s_rule() -> None:
    steps = [(name, X) for name in ("mul_", "add_", "add_")]
    program = calls(*steps)
    program.facts.host("annotation", "Optimizer.step#SGD.step", 0, program.now)
    assert found(program) == {}
    assert found(calls(*steps)) == {"runs": ["maa"]}
    assert found(calls(*steps, ("addcdiv_", X))) == {}


def test_long_formulas_are_no_activations() -> None:
    assert found(calls(*[("mul", X)] * 12, ("tanh", X))) == {"runs": ["m" * 12 + "t"]}


def test_a_run_ends_where_a_number_is_read_and_with_the_step() -> None:
    program = calls(*((name, X) for name in ("mul", "add", "div")))
    _, read = program.call("aten::_local_scalar_dense", kernel="Memcpy DtoH (Device -> Pageable)", kind="copy")
    program.facts.row("copies", event=read, direction="DtoH", bytes=4)
    for name in ("add", "mul", "div"):
        program.call(f"aten::{name}", X)
    assert found(program) == {"runs": ["mad", "amd"]}
    program = calls(*((name, X) for name in ("mul", "add", "div")))
    program.facts.step(1, 0, program.now)
    second = program.now
    for name in ("add", "mul", "div"):
        program.call(f"aten::{name}", X)
    program.facts.step(2, second, program.now - second)
    assert found(program) == {"runs": ["mad", "amd"]}


def test_many_of_the_same_are_done_to_a_tensor_each() -> None:
    assert found(calls(*[("mul", X)] * 8)) == {"runs": ["m" * 8]}
    assert found(calls(*[("mul", X)] * 9)) == {}
    average = [("mul", X), ("add", X)]
    assert found(calls(*average * 8)) == {"runs": ["ma" * 8]}
    assert found(calls(*average * 8, average[0])) == {}
    assert found(calls(*average * 8, ("div", X))) == {"runs": ["ma" * 8 + "d"]}
