from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import compiling
from support import Facts


def stepped(*shapes: str) -> Facts:
    facts = Facts()
    for number, shape in enumerate(shapes or ("[[2, 3]]", "[[2, 3]]")):
        facts.step(number, number * 1000, 1000)
        facts.row("op_inputs", event=facts.host("op", "aten::mm", number * 1000 + 100, 50), shapes=shape)
        facts.row("op_inputs", event=facts.host("op", "aten::t", number * 1000 + 200, 50), shapes="[[9]]")
    return facts


def test_compilation_is_told_by_name() -> None:
    names = (
        ("op", "entire_frame_compile (dynamo_timed)"),
        ("runtime", "cuModuleLoadData"),
        ("runtime", "nvrtcCompileProgram"),
        ("overhead", "Lazy Function Loading"),
        ("python", "torch/_inductor/compile_fx.py(1200): compile_fx"),
        ("python", "triton/compiler/compiler.py(220): compile"),
    )
    facts = stepped(*["[[2, 3]]"] * (1 + len(names)))
    events = [facts.host(*name, 1300 + 1000 * step, 400) for step, name in enumerate(names)]
    s = Signals.of(facts.trace())
    assert s(compiling.compilations).events.tolist() == events
    assert s(compiling.compilations).steps == 6
    assert s(compiling.compiling_share) == pytest.approx(0.4 * 6 / 7)


def test_running_compiled_code_is_no_compilation() -> None:
    facts = stepped()
    for place, name in enumerate(("CompiledFunction", "Torch-Compiled Region: 0/0", "## Call CompiledFxGraph f ##")):
        facts.host("op", name, 1300 + 100 * place, 90)
    assert Signals.of(facts.trace())(compiling.compilations).events.size == 0


def test_without_steps_first_use_is_left_out() -> None:
    facts = Facts()
    facts.kernel("k", 0, 10, launch=(0, 5))
    facts.kernel("k", 990, 10, launch=(980, 5))
    early = facts.host("runtime", "nvrtcCompileProgram", 100, 50)
    compiled = facts.host("runtime", "nvrtcCompileProgram", 700, 50)
    first_uses = ("Lazy Function Loading", "cuLibraryLoadData", "Runtime Triggered Module Loading")
    for place, name in enumerate(("Triton/compiler: none", *first_uses)):
        facts.host("runtime", name, 760 + 50 * place, 45)
    assert Signals.of(facts.trace())(compiling.compilations).events.tolist() == [early, compiled]


def test_without_steps_compilation_counts_wherever_it_lies_and_on_whatever_thread() -> None:
    facts = Facts()
    before = facts.host("annotation", "_compile.compile_inner (dynamo_timed)", 0, 600)
    facts.host("annotation", "backend_compile (dynamo_timed)", 100, 300)
    facts.kernel("k", 1000, 10, launch=(990, 5))
    facts.host("annotation", "compile_fx.<locals>.bw_compiler (dynamo_timed)", 1100, 200, thread="2")
    facts.kernel("k", 1990, 10, launch=(1980, 5))
    found = Signals.of(facts.trace())(compiling.compiled_once)
    assert (found.total_ns, found.recorded_ns, found.outside_ns) == (800, 2000, 600)
    assert found.events.tolist()[0] == before


def test_parts_of_a_compilation_count_once() -> None:
    facts = stepped()
    outer = facts.host("op", "entire_frame_compile (dynamo_timed)", 1300, 400)
    facts.host("op", "backend_compile (dynamo_timed)", 1350, 200)
    facts.host("runtime", "cuModuleLoadData", 2100, 400)  # after the last step
    assert Signals.of(facts.trace())(compiling.compilations).events.tolist() == [outer]


@pytest.mark.parametrize(
    ("shapes", "variety"),
    [(("[[2, 3]]",) * 3, 1.0), (("[[2, 3]]", "[[2, 4]]"), 1.5), (("[[2, 3]]", "[[2, 4]]", "[[2, 5]]"), 2.0)],
)
def test_variety_of_shapes(shapes: tuple[str, ...], variety: float) -> None:
    assert Signals.of(stepped(*shapes).trace())(compiling.shape_variety) == variety


def test_one_step_shows_no_variety() -> None:
    with pytest.raises(MissingInputError, match="two steps"):
        Signals.of(stepped("[[2, 3]]").trace())(compiling.shape_variety)
