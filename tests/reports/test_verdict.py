"""What is said above the findings of several ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.reports.contents import Contents
from stepscope.reports.sections.findings import findings
from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.finding import Evidence, Finding
from stepscope.signals.recording.accounting import Account

BUSY = Account(0.1, 0.5, 0.0, (), True, waiting=0.05)
FOUND = Finding(
    "SYN004", "stream", "synchronisation", "medium", "t", "s", 50, None, 0.9, Evidence((0,)), (), share=0.05
)  # fmt: skip


def said(*shown: Finding, waiting: tuple[float, ...] = (0.4, 0.05), step: int = 1_000) -> tuple[list[str], str]:
    """The remarks above the findings, and the remark beside the title."""
    accounts = {rank: replace(BUSY, waiting=share) for rank, share in enumerate(waiting)}
    diagnosis = Diagnosis(findings=shown, asked=40, step_ns=step, accounts=accounts, ranks=len(accounts))
    section = findings(_contents(diagnosis), 10)
    return [f"{line.text}; {line.detail}" for line in section.blocks if hasattr(line, "detail")], section.aside


def _contents(diagnosis: Diagnosis) -> Contents:
    return Contents({}, (), (), {}, diagnosis=diagnosis)


def test_of_several_ranks_the_one_is_named_whose_step_is_told() -> None:
    assert said()[0][0].startswith("the device of rank 0 computes nothing for 60.0 % of the step")
    assert said(waiting=(0.0,))[0][0].startswith("the device computes nothing for 60.0 %")


def test_ranks_that_wait_for_each_other_are_told() -> None:
    (_, told) = said()[0]
    assert told.startswith(
        "ranks wait for each other in collectives: rank 0 for 40.0 % of the step, rank 1, the least, "
    )
    assert told.endswith("for 5.0 %; ")
    few = replace(FOUND, code="REC005", family="recording", cost_ns=None, share=None)
    assert "the profiler started last" in said(few)[0][1]


@pytest.mark.parametrize("waiting", [(0.099, 0.01), (0.4,)])
def test_ranks_that_hardly_wait_and_single_ones_are_not(waiting: tuple[float, ...]) -> None:
    assert len(said(waiting=waiting)[0]) == 1


def test_a_finding_that_names_the_late_rank_takes_its_place() -> None:
    assert len(said(replace(FOUND, family="cluster", code="CLU001"))[0]) == 1


def test_prices_of_ranks_with_steps_of_other_lengths_are_of_their_own() -> None:
    assert said(FOUND)[1] == "prices are estimated savings of a step of 1.00 µs"
    assert said(FOUND, step=1_009)[1] == "prices are estimated savings of a step of 1.01 µs"
    alike = "prices are estimated savings of a step of the rank that each costs most, or that others wait for"
    assert said(FOUND, step=1_011)[1] == alike
