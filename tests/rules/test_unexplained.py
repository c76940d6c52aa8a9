"""What is said of a step that findings do not account for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.finding import Evidence, Finding
from stepscope.signals.recording.accounting import Account

IDLE = Account(0.4, 0.0, 0.0, (("unknown", 0.4),), True)
FOUND = Finding(
    "SYN004", "stream", "synchronisation", "medium", "t", "s", 50, None, 0.9, Evidence((0,)), (), share=0.05
)


@pytest.mark.parametrize(
    ("shares", "said"),
    [((), True), ((0.05,), True), ((0.06, 0.11), False), ((0.4,), False)],
)
def test_most_of_what_is_lost_must_be_accounted_for(shares: tuple[float, ...], said: bool) -> None:
    findings = tuple(replace(FOUND, share=share) for share in shares)
    diagnosis = Diagnosis(findings=findings, asked=40, step_ns=1_000, accounts={0: IDLE}, ranks=1)
    assert (diagnosis.unexplained is not None) is said
    assert diagnosis.explained == pytest.approx(sum(shares))


def test_a_recording_that_is_the_profilers_own_says_so_itself() -> None:
    findings = (replace(FOUND, code="REC002", cost_ns=None, share=None),)
    assert Diagnosis(findings=findings, accounts={0: IDLE}, ranks=1).unexplained is None


def test_communication_that_nothing_hides_accounts_for_what_it_is_about() -> None:
    taken = replace(FOUND, cost_ns=None, share=None, taken_ns=300, waiting=True)
    diagnosis = Diagnosis(findings=(taken,), asked=40, step_ns=1_000, accounts={0: IDLE}, ranks=1)
    assert diagnosis.unexplained is None
    assert diagnosis.explained == pytest.approx(0.3)
    assert not diagnosis.healthy
    kernels = replace(taken, waiting=False)
    assert Diagnosis(findings=(kernels,), step_ns=1_000, accounts={0: IDLE}, ranks=1).unexplained is not None
