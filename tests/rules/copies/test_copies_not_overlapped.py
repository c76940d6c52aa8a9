from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Finding
from support import Facts


def found(beside: bool, step_ns: int = 3_000_000) -> list[Finding]:
    facts = Facts()
    for number in range(3):
        at = number * step_ns
        facts.step(number, at, step_ns)
        event = facts.kernel("Memcpy HtoD", at + 20_000, 100_000, launch=(at + 100, 5_000), kind="copy", stream="9")
        facts.row("copies", event=event, direction="HtoD", bytes=1 << 20, src_kind="pinned", dst_kind="device")
        facts.kernel("gemm", at + (10_000 if beside else 200_000), 500_000, launch=(at + 6_000, 2_000))
    return findings("CPY004", facts.trace())


def test_copies_while_nothing_is_computed_are_found() -> None:
    (finding,) = found(beside=False)
    assert figures(finding.summary) == ["1.00 MiB", "100 µs", "100 µs", "3.3 %"]
    assert "torch.cuda.stream(side)" in finding.actions[0].after


def test_copies_beside_compute_are_none() -> None:
    assert found(beside=True) == []


def test_three_hundredths_of_the_step_decide() -> None:
    assert found(beside=False, step_ns=3_340_000) == []
    assert len(found(beside=False, step_ns=3_330_000)) == 1


def test_without_copies_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY004", {})
