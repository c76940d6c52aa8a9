from __future__ import annotations

import pytest

from rule_support import job_drafts
from stepscope.language import said
from stepscope.model.program import Framework, Program
from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.engine import diagnose
from stepscope.rules.finding import Evidence, Finding
from stepscope.rules.fitting import fits
from stepscope.rules.settings import Settings
from stepscope.signals import Signals
from stepscope.signals.recording import enough, recording
from stepscope.signals.recording.accounting import Account
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program
from support import Facts

FEW = enough.Verdict(
    "few",
    said(
        "{kernels} ran on the device, {busy} in all: too few to judge a job by.",
        kernels=said("Only {number} kernels and copies", number=4), busy="30.0 µs",
    ),
)  # fmt: skip


def given(verdict: enough.Verdict | None) -> dict[object, object]:
    return {recording.profiler: "kineto", **({} if verdict is None else {enough.verdict: verdict})}


@pytest.mark.parametrize(
    ("kind", "title", "does"),
    [
        ("nothing", "Nothing of the program is recorded", "With a schedule"),
        ("few", "Too little is recorded to say what is slow", "Warm up"),
        ("first use", "What is recorded is the first use", "Warm up"),
        ("thinned", "The recording is incomplete: events were removed", "as it was written"),
    ],
)
def test_wording_says_why_nothing_is_said(kind: str, title: str, does: str) -> None:
    (draft,) = job_drafts("REC013", {0: given(enough.Verdict(kind, "1."))})
    assert (draft.title, draft.summary, draft.cost_ns) == (title, "1. Findings about time are withheld.", None)
    assert does in draft.actions[0].text


@pytest.mark.parametrize(("framework", "code"), [("pytorch", True), ("unknown", False)])
def test_programs_that_the_code_is_not_for_are_told_in_words(framework: Framework, code: bool) -> None:
    """Else there would be no finding at all, and nothing to say why others are withheld."""
    told = Program("unknown", framework, language="python" if code else "unknown")
    (draft,) = job_drafts("REC013", {0: {**given(FEW), program: told}})
    assert bool(draft.actions[0].after) == code
    assert fits(draft.actions[0], told)


def test_one_rank_with_enough_is_enough() -> None:
    assert job_drafts("REC013", {0: given(FEW), 1: given(enough.Verdict())}) == []
    assert len(job_drafts("REC013", {0: given(FEW), 1: given(FEW)})) == 1


@pytest.mark.parametrize(
    ("category", "reader", "kind"),
    [("other", "kineto", "nothing"), ("step", "kineto", "nothing"), ("op", "kineto", None), ("other", "chrome", None)],
)
def test_only_the_profilers_own_marks_are_nothing(category: str, reader: str, kind: str | None) -> None:
    facts = Facts()
    facts.host(category, "ProfilerStep#3", 0, 1_000)
    told = Signals.of(facts.trace(reader=reader)).maybe(enough.verdict)
    assert (told.kind if told is not None else None) == kind


def test_where_nothing_is_known_of_a_device_it_says_nothing() -> None:
    assert job_drafts("REC013", {0: given(None)}) == []


def test_rules_about_time_are_not_asked_unless_selected() -> None:
    facts = Facts()
    facts.step(0, 0, 1_000_000)
    for at in range(4):
        facts.kernel("gemm", at * 200_000 + 100_000, 5_000, launch=(at * 200_000, 5_000))
    trace = facts.trace()
    found = diagnose(trace, strict=True)
    assert {one.code for one in found.unasked} >= {"HST001", "KRN001", "SYN001", "COM001"}
    assert all(finding.family in ("memory", "recording") for finding in found.findings)
    assert "HST001" not in {one.code for one in diagnose(trace, Settings(select=("HST001",)), strict=True).unasked}


@pytest.mark.parametrize(("code", "explains"), [("REC013", True), ("REC002", True), ("REC008", False)])
def test_idle_time_that_is_the_recordings_needs_no_rule(code: str, explains: bool) -> None:
    account = Account(0.9, 0.0, 0.0, (), True)
    finding = Finding(code, "n", "recording", "advice", "T", "S", None, None, 1.0, Evidence(), ())
    diagnosis = Diagnosis((finding,), asked=1, accounts={0: account}, ranks=1)
    assert (diagnosis.unexplained is None) is explains


def test_what_else_the_recording_lacks_matters_less() -> None:
    lacks = {**given(FEW), recording.gaps: {"steps": 0.9, "stacks": 0.9, "lost": 2.0}, job.platform: "cuda"}
    assert [len(job_drafts(code, {0: lacks})) for code in ("REC001", "REC005", "REC008")] == [1, 0, 0]
    assert [len(job_drafts("REC005", {0: {**lacks, enough.verdict: enough.Verdict()}}))] == [1]
