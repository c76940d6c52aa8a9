from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.program import Program
from stepscope.model.schema import TableSchema, count, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace
from stepscope.reports import build
from stepscope.reports.build import ReportOptions, build_report
from support import Facts, recorded_trace

SCHEMA = TableSchema("numbers", "Number of kernels.", (RANK, count("kernels", "How many.")))
BY_STEP = TableSchema(
    "by_step", "Number of kernels.", (RANK, *(TableSchema("", "", ()).columns), count("step", "Step."))
)
RECORDED_STEP = TableSchema(
    "recorded_step", "Number of kernels.", (*SCHEMA.columns, text("step", "Step as recorded.", nullable=True))
)


def numbers(trace: Trace) -> Table:
    return Table.from_rows(SCHEMA, [(trace.ranks[0], trace.scalar("SELECT count(*) FROM kernels"))])


def by_step(trace: Trace) -> Table:
    rows = trace.sql("SELECT rank, step FROM steps ORDER BY step").to_pylist()
    return Table.from_rows(BY_STEP, [(row["rank"], row["step"]) for row in rows])


def use(monkeypatch: pytest.MonkeyPatch, *analyses: Analysis) -> None:
    monkeypatch.setattr(build, "analyses", lambda: {one.name: one for one in analyses})


def two_steps() -> Facts:
    facts = Facts()
    facts.step(7, 0, 100)
    facts.step(8, 100, 100)
    facts.kernel("a", 10, 20, launch=(1, 2))
    facts.kernel("b", 110, 20, launch=(101, 2))
    facts.kernel("c", 140, 20, launch=(131, 2))
    return facts


def test_progress_counts_rules_and_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Analysis(SCHEMA, numbers))
    noted: list[tuple[str, int, int]] = []
    report = build_report(two_steps().trace(), ReportOptions(progress=lambda *told: noted.append(told)))
    assert report.diagnosis is not None
    assert [done for _, done, _ in noted] == list(range(len(noted)))
    assert {total for _, _, total in noted} == {len(noted)}
    assert {what for what, _, _ in noted} == {"rank 0: findings", "rank 0: numbers"}
    noted.clear()
    build_report(two_steps().trace(), ReportOptions(progress=lambda *told: noted.append(told), rules=None))
    assert noted == [("rank 0: numbers", 0, 1)]


def test_tables_ranks_and_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Analysis(SCHEMA, numbers))
    report = build_report(two_steps().trace(rank=3, world_size=8))
    assert report.table("numbers").rows() == [(3, 3)]
    assert [(r.rank, r.device, r.world_size) for r in report.ranks] == [(3, 0, 8)]
    assert report.sources[3].events == 8
    assert report.computed("numbers")
    assert report.diagnosis is not None
    assert report.findings == report.diagnosis.findings


def test_an_analysis_that_abstains_becomes_a_line_and_an_empty_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def abstain(trace: Trace) -> Table:
        raise MissingInputError("no stacks", hint="record with with_stack=True")

    use(monkeypatch, Analysis(SCHEMA, abstain), Analysis(BY_STEP, by_step))
    report = build_report(two_steps().trace())
    [line] = [line for line in report.health if line.code == "not-computed"]
    assert (line.severity, line.message, line.effect) == (
        "info", "numbers was not computed: no stacks", "record with with_stack=True",
    )  # fmt: skip
    assert len(report.table("numbers")) == 0
    assert not report.computed("numbers")
    assert len(report.table("by_step")) == 2


def test_an_analysis_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(trace: Trace) -> Table:
        raise ZeroDivisionError("oops")

    use(monkeypatch, Analysis(SCHEMA, fail), Analysis(BY_STEP, by_step))
    trace = two_steps().trace()
    report = build_report(trace)
    [line] = [line for line in report.health if line.code == "analysis-failed"]
    assert line.severity == "error"
    assert "ZeroDivisionError" in line.message
    assert "--debug" in line.effect
    assert len(report.table("by_step")) == 2
    with pytest.raises(ZeroDivisionError):
        build_report(trace, ReportOptions(strict=True))


def test_a_program_that_can_not_be_told_is_said_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(trace: Trace) -> Program:
        raise KeyError("oops")

    def abstain(trace: Trace) -> Table:
        raise MissingInputError.of("stacks")

    use(monkeypatch, Analysis(SCHEMA, abstain))
    monkeypatch.setattr("stepscope.reports.ranks.question.program_of", fail)
    trace = two_steps().trace(reader="kineto")
    for options in (ReportOptions(), ReportOptions(tables=("numbers",))):
        found = {line.code: line.message for line in build_report(trace, options).health}
        assert found["analysis-failed"] == "program was not computed: it failed (KeyError)"
        assert found["not-computed"] == "numbers was not computed: the recording has no Python stacks"
        with pytest.raises(KeyError):
            build_report(trace, replace(options, strict=True))


def test_steps_are_chosen_by_recorded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Analysis(SCHEMA, numbers), Analysis(BY_STEP, by_step))
    report = build_report(two_steps().trace(), ReportOptions(steps=(8,)))
    assert report.table("numbers").rows() == [(0, 2)]
    assert report.table("by_step").rows() == [(0, 8)]
    assert report.selection.steps == (8,)


def test_steps_as_recorded_are_chosen_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def recorded(trace: Trace) -> Table:
        kernels = trace.scalar("SELECT count(*) FROM kernels")
        return Table.from_rows(RECORDED_STEP, [(0, kernels, "7"), (0, kernels, "8"), (0, kernels, None)])

    use(monkeypatch, Analysis(RECORDED_STEP, recorded))
    report = build_report(two_steps().trace(), ReportOptions(steps=(8,), strict=True))
    assert report.table("recorded_step").rows() == [(0, 3, "8")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ReportOptions(steps=(9,)), "the input has no step 9; it has 7, 8"),
        (ReportOptions(ranks=(5,)), "the input has no rank 5; it has 0"),
        (ReportOptions(tables=("nothing",)), "no table is called 'nothing'; choose from numbers"),
    ],
)
def test_what_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, options: ReportOptions, message: str) -> None:
    use(monkeypatch, Analysis(SCHEMA, numbers))
    with pytest.raises(UserError, match=message):
        build_report(two_steps().trace(), options)


def test_ranks_are_put_together_and_partial_abstentions_said(monkeypatch: pytest.MonkeyPatch) -> None:

    def of_some(trace: Trace) -> Table:
        if trace.ranks[0] > 1:
            raise MissingInputError("nothing here", hint="look elsewhere")
        return numbers(trace)

    use(monkeypatch, Analysis(SCHEMA, of_some))
    with recorded_trace("kineto", "v100_dlrm_8ranks") as trace:
        report = build_report(trace)
    assert [row[0] for row in report.table("numbers").rows()] == [0, 1]
    [line] = [line for line in report.health if line.code == "not-computed"]
    assert line.message == "numbers was not computed for 6 of the ranks: nothing here"
    assert report.computed("numbers")


@pytest.mark.parametrize("reports", [build_report])
def test_every_registered_analysis_runs_on_an_empty_step(reports: Callable[..., object]) -> None:
    facts = Facts()
    facts.step(1, 0, 100)
    report = build_report(facts.trace())
    assert not [line.message for line in report.health if line.code == "analysis-failed"]
    assert reports is build_report


def test_what_the_recording_cuts_off_is_no_part_of_the_mean() -> None:
    from stepscope.reports.sections.budget import budget

    facts = Facts()
    for number, kernels in enumerate((4, 4, 1)):
        facts.step(number, 100 * number, 100)
        for k in range(kernels):
            facts.kernel("a", 100 * number + 20 * k + 5, 10, launch=(100 * number + 20 * k, 2))
    section = budget(build_report(facts.trace()), 10)
    assert [bar.label for bar in section.blocks[0].rows] == ["step 0", "step 1", "mean"]  # type: ignore[union-attr]
    assert section.blocks[0].rows[-1].parts[0] == 40  # type: ignore[union-attr]
    assert section.aside == "2 steps · without 1 step not typical"
