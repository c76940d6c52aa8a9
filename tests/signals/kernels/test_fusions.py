from __future__ import annotations

import numpy as np
import pytest

from operator_support import GEMM, Program
from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.kernels import attention, fusions
from stepscope.signals.shared.host_cost import outermost
from support import Facts

X, ROW = (4096, 1024), (4096, 1)
NORM = (("pow", X, 20), ("mean", X, 15), ("add", ROW, 2), ("rsqrt", ROW, 2), ("mul", X, 30), ("mul", X, 25))


def norm(steps: int = 2, thread: str = "1") -> Program:
    program = Program()
    for number in range(steps):
        start = program.now
        for name, shape, dur in NORM:
            program.call(f"aten::{name}", shape, dur=dur * 1000, thread=thread)
        program.call("aten::mm", X, (1024, 1024), dur=200_000, thread=thread)
        program.wait()
        program.facts.step(number, start, program.now - start, thread=thread)
    return program


def test_a_sequence_takes_as_long_as_its_longest_operation_when_fused() -> None:
    found = Signals.of(norm().facts.trace())(fusions.norms)
    assert found.count == 2
    assert found.before_ns == 2 * 94_000
    assert found.after_ns == 2 * 30_000
    assert found.share == pytest.approx(64_000 / 304_000, rel=0.01)
    assert found.letters == "WMaQmm"
    assert found.operators == tuple(f"aten::{name}" for name, _, _ in NORM)
    assert found.alike
    (part,) = found.change.device
    assert part.factor == 0.0
    assert part.events.size == 10


def test_the_price_is_what_the_step_saves() -> None:
    trace = norm().facts.trace()
    found = Signals.of(trace)(fusions.norms)
    prediction = StepGraph.of(trace).predict(found.change)
    assert prediction.saved_ns == pytest.approx(64_000, abs=2_000)


def test_the_host_calls_one_operator_in_place_of_all() -> None:
    found = Signals.of(norm().facts.trace())(fusions.norms)
    (stretches,) = found.change.time
    assert stretches.factor == pytest.approx(1 / 6)
    assert (stretches.ends - stretches.starts).tolist() == [60_000, 60_000]
    assert found.change.host == ()
    assert (found.host_ns, found.host_after_ns, found.saved_ns) == (120_000, 20_000, 2 * 64_000 + 100_000)


def test_operators_around_an_operator_go_with_it() -> None:
    facts = Facts()
    for number, name in enumerate(("pow", "mean", "rsqrt", "mul")):
        at = number * 1000
        facts.host("op", f"autograd::engine::evaluate_function: {name}Backward0", at, 900)
        facts.host("op", f"aten::{name}", at + 100, 600)
        facts.kernel("kernel", 10_000 + at, 500, launch=(at + 200, 100))
    found = Signals.of(facts.trace())(fusions.norms)
    (stretches,) = found.change.time
    assert (stretches.starts.tolist(), stretches.ends.tolist()) == ([0], [3_900])


def test_time_in_which_something_else_goes_on_stays() -> None:
    program = Program()
    for name, shape, dur in NORM:
        program.call(f"aten::{name}", shape, dur=dur * 1000)
        program.now += 400_000
    found = Signals.of(program.facts.trace())(fusions.norms)
    assert found.change.time == ()
    (part,) = found.change.host
    assert part.events.size == 6
    assert found.host_after_ns == pytest.approx(found.host_ns / 6, abs=1)


def test_kernels_without_operators_go_with_their_launches_but_not_with_a_graph_s() -> None:
    for together in (False, True):
        facts = Facts()
        shared = facts.correlation()
        facts.host("launch", "cudaGraphLaunch", 0, 50, correlation=shared)
        for number in range(4):
            at = 1_000 * number + 1_000
            launch = shared if together else (at, 200)
            facts.kernel("Mul1", 20_000 + at, 500, launch=launch, grid=[64, 1, 1], block=[128, 1, 1])
        facts.kernel("ampere_sgemm_128x64_tn", 30_000, 500, launch=shared)
        found = Signals.of(facts.trace())(fusions.runs)
        assert found.count == 1
        assert found.operators == ()
        assert len(found.change.time) == (0 if together else 1)
        assert found.change.host == ()


def test_without_sequences_there_is_nothing_to_change() -> None:
    program = Program()
    program.call("aten::mm", X, (1024, 1024))
    s = Signals.of(program.facts.trace())
    for wanted in (fusions.norms, fusions.rotary, fusions.losses, fusions.activations, fusions.runs, attention.unfused):
        found = s(wanted)
        assert (found.count, found.before_ns, found.share) == (0, 0, 0.0)


def a100(program: Program) -> Trace:
    program.facts.row("devices", device=0, name="NVIDIA A100-SXM4-80GB", used=True, sms=108)
    return program.facts.trace()


def test_fused_attention_takes_half_of_the_peak_or_the_memory_s_rate() -> None:
    program = Program()
    program.attention(16, 1024, 64, dur=300_000)
    found = Signals.of(a100(program))(attention.unfused)
    flops = 2 * 2 * 16 * 1024 * 1024 * 64
    assert found.before_ns == 1_200_000
    assert found.after_ns == pytest.approx(1e9 * flops / (0.5 * 312e12), abs=1)
    (part,) = found.change.device
    assert part.factor == pytest.approx(found.after_ns / found.before_ns, abs=0.001)
    assert part.events.size == 4


def test_attention_of_few_rows_takes_as_long_as_its_operands_to_read() -> None:
    program = Program()
    batch, tokens, keys, width, out = 64, 2, 4096, 32, 16
    scores = (batch, tokens, keys)
    program.call("aten::bmm", (batch, tokens, width), (batch, width, keys), kernel=GEMM, dur=300_000)
    program.call("aten::_softmax", scores, dur=300_000)
    program.call("aten::bmm", scores, (batch, keys, out), kernel=GEMM, dur=300_000)
    found = Signals.of(a100(program))(attention.unfused)
    elements = batch * (tokens * width + width * keys + keys * out + tokens * out)
    assert found.after_ns == pytest.approx(1e9 * 2 * elements / 2_039e9, abs=1)


def test_its_backward_takes_two_and_a_half_times_as_long() -> None:
    program = Program()
    program.attention(16, 1024, 64, dur=300_000)
    program.call("aten::native_layer_norm", X)
    forward = Signals.of(a100(program))(attention.unfused)
    program = Program()
    program.attention(16, 1024, 64, dur=300_000)
    program.call("aten::native_layer_norm", X)
    program.attention_backward(16, 1024, 64)
    both = Signals.of(a100(program))(attention.unfused)
    assert both.count == 2
    assert both.after_ns == pytest.approx(3.5 * forward.after_ns, abs=4)


def test_a_backward_without_a_forward_of_its_size_does_not_count() -> None:
    program = Program()
    program.attention(16, 1024, 64)
    program.call("aten::native_layer_norm", X)
    program.attention_backward(16, 512, 64)
    assert Signals.of(a100(program))(attention.unfused).count == 1


def test_on_an_unknown_device_the_gemms_remain() -> None:
    program = Program()
    program.attention(16, 1024, 64, dur=300_000)
    found = Signals.of(program.facts.trace())(attention.unfused)
    assert found.after_ns == 600_000


def test_without_a_device_it_abstains_since_operators_only_take_the_time_of_launches() -> None:
    facts = Facts()
    shapes = ("[[4,32,16],[4,16,32]]", "[[4,32,32]]", "[[4,32,32],[4,32,16]]")
    for number, (name, shape) in enumerate(zip(("bmm", "_softmax", "bmm"), shapes, strict=True)):
        op = facts.host("op", f"aten::{name}", number * 1_000, 600)
        facts.row("op_inputs", event=op, shapes=shape)
    with pytest.raises(MissingInputError, match="no device activity"):
        Signals.of(facts.trace())(attention.unfused)


def test_no_operator_is_around_work_of_which_no_launch_is_recorded() -> None:
    facts = Facts()
    operator = facts.host("op", "aten::mul", 0, 10)
    kernel = facts.kernel("mul_kernel", 20, 5)
    found = outermost(facts.trace(), np.array([operator]), np.array([kernel]))
    assert found.tolist() == [-1]
