from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.finding import Finding
from stepscope.rules.fitting import fitting
from support import Facts

US = 1_000
#: At 12 GB/s, which is what copies come to where the link is not known, this takes 5 us.
PAGES = 60_000


def found(migrations: int, *, pause: int = 20 * US, kind: str = "managed") -> list[Finding]:
    """Three steps of a millisecond, each with a kernel of 900 us; pages move in during it, 10 us each."""
    facts = Facts()
    for number in range(3):
        at = number * 1000 * US
        facts.step(number, at, 1000 * US)
        facts.kernel("add", at + 20 * US, 900 * US, launch=(at, 5 * US))
        for page in range(migrations):
            start = at + 30 * US + page * (10 * US + pause)
            event = facts.kernel("Memcpy HtoD (Unified Memory)", start, 10 * US, kind="copy", stream="13")
            facts.row("copies", event=event, direction="HtoD", bytes=PAGES, src_kind=kind, dst_kind=kind)
    return findings("CPY008", facts.trace())


def test_kernels_that_wait_for_pages_are_found() -> None:
    (finding,) = found(20)
    assert figures(finding.summary) == ["1", "1.14 MiB", "100 µs", "20", "580 µs"]
    assert finding.cost_ns == 480 * US


def test_pauses_in_which_the_kernel_works_are_no_waiting() -> None:
    (finding,) = found(5, pause=150 * US)
    assert finding.cost_ns == 25 * US


def test_what_is_as_quick_as_a_copy_just_misses() -> None:
    assert found(1, pause=0) == []  # 10 us of a step, and a copy would take half of that
    assert len(found(2, pause=0)) == 1


@pytest.mark.parametrize(
    ("marked", "moved", "price"),
    [(True, 300, 300), (True, 9, 0), (False, 300, 200), (False, 80, 0)],
)
def test_pages_that_move_while_the_device_computes_nothing_cost_that_time(marked: bool, moved: int, price: int) -> None:
    """In most steps all of it; where no steps are known what is left beside one copy, here of 100 us."""
    facts = Facts()
    for number in range(3 if marked else 1):
        at = number * 1000 * US
        if marked:
            facts.step(number, at, 1000 * US)
        event = facts.kernel("Memcpy DtoH (Unified Memory)", at + 10 * US, moved * US, kind="copy", stream="13")
        facts.row("copies", event=event, direction="DtoH", bytes=1_200_000, src_kind="managed", dst_kind="managed")
        facts.kernel("add", at + 500 * US, 500 * US, launch=(at, 5 * US))
    assert [finding.cost_ns for finding in findings("CPY008", facts.trace())] == [price * US] * (price > 0)


def test_copies_that_the_program_asks_for_are_none() -> None:
    assert found(20, kind="pinned") == []


def test_without_migrations_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY008", {})


def test_remedies_fit_how_the_program_is_written() -> None:
    (finding,) = found(20)
    openacc = Program(framework="native", platform="cuda", language="native", offload="openacc")
    assert next(action.text for action in finding.actions if "Prefetch" in action.text)
    assert all("<<<" not in action.after for action in fitting(finding.actions, openacc))
