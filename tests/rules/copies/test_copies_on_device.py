from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Finding
from support import Facts


def recording(
    copy_ns: int, *, beside: bool = False, operator: str = "aten::clone", steps: int = 4, every: int = 1
) -> Facts:
    """A millisecond per step of a kernel and, before it or while it runs, a copy, in every step or some.

    The device starts 200 µs after the host, and is behind it from then on: the mean step takes 1.05 ms.
    """
    facts = Facts()
    for number in range(steps):
        at, start = number * 100_000, number * 1_000_000 + 200_000
        facts.step(number, at, 100_000)
        first = 0 if beside or number % every else copy_ns
        if number % every == 0:
            if operator:
                facts.host("op", operator, at, 40_000)
                facts.host("op", "aten::copy_", at + 5_000, 30_000)
            begun, stream = (start + 200_000, "8") if beside else (start, "7")
            event = facts.kernel("Memcpy DtoD", begun, copy_ns, launch=(at + 10_000, 5_000), kind="copy", stream=stream)
            facts.row("copies", event=event, direction="DtoD", bytes=16 << 20, src_kind="device", dst_kind="device")
        facts.host("op", "aten::mm", at + 50_000, 40_000)
        facts.kernel("gemm", start + first, 1_000_000 - first, launch=(at + 60_000, 2_000))
    return facts


def found(facts: Facts) -> list[Finding]:
    return findings("CPY009", facts.trace())


def test_copies_within_the_device_that_stand_alone_are_found() -> None:
    (finding,) = found(recording(80_000))
    assert figures(finding.summary) == ["1", "16.0 MiB", "7.6 %", "80.0 µs", "aten::clone"]
    assert finding.cost_ns is not None
    assert 0 < finding.cost_ns <= 80_000


@pytest.mark.parametrize(("copy_ns", "number"), [(52_000, 0), (53_000, 1)])
def test_a_twentieth_of_the_step_decides(copy_ns: int, number: int) -> None:
    assert len(found(recording(copy_ns))) == number


def test_those_beside_other_work_and_those_of_programs_without_operators_are_none() -> None:
    assert found(recording(80_000, beside=True)) == []
    assert found(recording(80_000, operator="")) == []


@pytest.mark.parametrize(("every", "number"), [(2, 1), (3, 0)])
def test_copies_in_few_steps_are_not_the_loop_s(every: int, number: int) -> None:
    assert len(found(recording(400_000, steps=6, every=every))) == number


def test_without_copies_the_rule_finds_nothing() -> None:
    facts = Facts()
    facts.step(0, 0, 1_000)
    facts.host("op", "aten::mm", 0, 40)
    facts.kernel("gemm", 100, 900, launch=(50, 5))
    assert found(facts) == []


def test_without_a_known_program_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY009", {})
