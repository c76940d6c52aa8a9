from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.copies.copies_bound import _keeping
from stepscope.rules.engine import drafts_of
from stepscope.rules.finding import Finding
from stepscope.rules.fitting import fitting
from stepscope.rules.registry import all_rules
from stepscope.signals import Signals
from support import Facts


def found(copy_ns: int, host_ns: int = 1_000_000) -> list[Finding]:
    """A kernel of 100 µs per step, and the copy of what it needs before that; a step each millisecond."""
    facts = Facts()
    for number in range(3):
        at = number * 1_000_000
        facts.step(number, at, host_ns)
        event = facts.kernel("Memcpy HtoD", at + 20_000, copy_ns, launch=(at + 100, 5_000), kind="copy")
        facts.row("copies", event=event, direction="HtoD", bytes=16 << 20, src_kind="pinned", dst_kind="device")
        facts.kernel("gemm", at + 20_000 + copy_ns, 100_000, launch=(at + 6_000, 2_000))
    return findings("CPY007", facts.trace())


def test_steps_that_copy_for_longer_than_they_do_anything_else_are_found() -> None:
    (finding,) = found(copy_ns=600_000)
    assert figures(finding.summary) == ["16.0 MiB", "28.0 GB/s", "60.0 %", "600 µs"]


def test_the_price_is_at_most_what_the_copies_take_alone() -> None:
    (finding,) = found(copy_ns=600_000, host_ns=30_000)
    assert finding.cost_ns == pytest.approx(600_000, rel=0.02)
    assert finding.cost_ns is not None
    assert finding.cost_ns <= 600_000
    (finding,) = found(copy_ns=600_000)  # the host takes as long
    assert finding.cost_ns == 0


def test_half_of_the_step_decides() -> None:
    assert found(copy_ns=499_000) == []
    assert len(found(copy_ns=500_000)) == 1


@pytest.mark.parametrize(("memory", "locked"), [("pageable", True), ("pinned", False)])
def test_only_memory_that_is_not_page_locked_yet_is_to_be_locked(memory: str, locked: bool) -> None:
    facts = Facts()
    for number in range(3):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        event = facts.kernel("Memcpy HtoD", at + 20_000, 700_000, launch=(at + 100, 5_000), kind="copy")
        facts.row("copies", event=event, direction="HtoD", bytes=16 << 20, src_kind=memory, dst_kind="device")
    (draft,) = drafts_of(all_rules()["CPY007"], Signals.of(facts.trace()))
    remedies = fitting(draft.actions, Program(framework="native", platform="cuda", language="c++"))
    assert any("page-locked memory, once" in action.text for action in remedies) == locked
    assert any("Keep on the device" in action.text for action in remedies)


def test_without_copies_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY007", {})


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (Program("inference", "pytorch", "cuda", parallel=frozenset({"fsdp"})), "fully_shard("),
        (Program("diffusion", "pytorch", "cuda"), "pipe.to("),
        (Program("inference", "pytorch", "cuda", "python"), "model.to("),
    ],
)
def test_what_keeps_it_on_the_device_is_that_of_what_offloads(program: Program, code: str) -> None:
    action = _keeping(program)
    assert action.after.startswith(code)
    assert fitting((action,), program) == (action,)


def _on_a_link(rate: float, memory: str = "pinned") -> Finding:
    """Copies at so many bytes/s on a device whose link carries 31.5 GB/s."""
    facts, copy_ns = Facts(), round((16 << 20) * 1e9 / rate)
    facts.row("devices", device=0, name="NVIDIA A100-SXM4-40GB", used=True)
    for number in range(3):
        at = number * (copy_ns + 100_000)
        facts.step(number, at, copy_ns + 100_000)
        event = facts.kernel("Memcpy HtoD", at + 20_000, copy_ns, launch=(at + 100, 5_000), kind="copy")
        facts.row("copies", event=event, direction="HtoD", bytes=16 << 20, src_kind=memory, dst_kind="device")
    (finding,) = findings("CPY007", facts.trace())
    return finding


def test_a_rate_below_half_of_the_links_is_a_hypothesis_with_its_check() -> None:
    slow, quick, pageable = (_on_a_link(*case) for case in ((15.7e9,), (15.8e9,), (6e9, "pageable")))
    assert {"15.7 GB/s", "31.5 GB/s"} <= set(figures(slow.summary))
    assert [any("nvidia-smi" in one.after for one in found.actions) for found in (slow, quick, pageable)] == [
        True,
        False,
        False,
    ]
    assert {"6.00 GB/s", "31.5 GB/s"} <= set(figures(pageable.summary))
