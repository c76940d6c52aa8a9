from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.engine import diagnose
from stepscope.signals import Signals
from stepscope.signals.copies.weight_loading import loaded
from stepscope.signals.shared.job import stepless
from stepscope.signals.shared.program import program
from support import Facts

MS = 1_000_000
MIB = 1 << 20
PYTHON = Program(kind="inference", framework="pytorch", platform="cuda", language="python", recorder="kineto")


def call(copies: int = 40, *, computing: int = 0, later: int = 0, after: int = 60) -> Facts:
    """Copies of 8 MiB every ms, each within its call, then GEMMs for so many ms, then later copies."""
    f = Facts()
    for number in range(copies + later):
        at = number * MS + (after * MS + 5 * MS if number >= copies else 0)
        f.host("op", "aten::copy_", at, 900_000)
        event = f.kernel("Memcpy HtoD", at + 50_000, 500_000, launch=(at + 20_000, 600_000), kind="copy")
        f.row("copies", event=event, direction="HtoD", bytes=8 * MIB, src_kind="pageable", dst_kind="device")
        if number < copies and computing:
            f.kernel("cast", at + 600_000, computing, launch=(at + 700_000, 5_000), kind="compute")
    for number in range(2 * after):
        at = copies * MS + number * MS // 2
        f.host("op", "aten::mm", at, 20_000)
        f.kernel("ampere_sgemm_128x64", at + 15_000, 450_000, launch=(at + 5_000, 5_000), kind="compute")
    return f


def test_copies_before_anything_is_computed_with_are_a_model_that_is_loaded() -> None:
    (finding,) = findings("CPY010", call().trace())
    assert {"40", "320 MiB"} <= set(figures(finding.summary))
    assert (finding.cost_ns, finding.waiting) == (None, True)
    assert finding.placed_as_ns == pytest.approx(39.5 * MS, rel=0.02)
    assert "profile()" in finding.actions[0].before


def test_findings_on_its_copies_are_symptoms_of_it_and_work_after_it_is_not() -> None:
    found = diagnose(call().trace(), strict=True).shown
    assert found[0].code == "CPY010"
    assert all(one.code not in ("CPY001", "CPY007", "HST013") for one in found)


@pytest.mark.parametrize(
    ("facts", "loads"),
    [
        (call(20), True),
        (call(19), False),  # as many tensors as inputs may have
        (call(40, computing=200_000), True),
        (call(40, computing=300_000), False),  # a loop over batches
        (call(40, later=40), True),
        (call(40, later=41), False),  # weights are sent again
        (call(40, after=157), True),
        (call(40, after=161), False),  # a fifth of the recording
    ],
)
def test_bounds(facts: Facts, loads: bool) -> None:
    assert bool(findings("CPY010", facts.trace())) is loads


def test_a_native_program_copies_its_input_and_nsight_starts_later() -> None:

    seen = {loaded: Signals.of(call().trace())(loaded), stepless: False}
    assert drafts("CPY010", {**seen, program: Program(framework="native", language="c++")}) == []
    (draft,) = drafts("CPY010", {**seen, program: PYTHON})
    assert (draft.placed_as_ns, draft.recorded_share) == (None, pytest.approx(0.4, abs=0.01))
    nsight = Program(framework="pytorch", language="python", recorder="nsight")
    (draft,) = drafts("CPY010", {**seen, program: nsight})
    assert "--capture-range" in draft.actions[0].after


def test_without_copies_or_matrices_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY010", {})
