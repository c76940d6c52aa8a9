"""The first sentence of a job of many ranks: which one is slow."""

from __future__ import annotations

from dataclasses import replace

from tests.cluster.job_support import TIMES, job

from stepscope.cluster.tables import JOB_TABLES
from stepscope.language import speaking, told
from stepscope.model.schema import TableSchema, text
from stepscope.model.table import Table
from stepscope.reports.contents import Contents, RankLine
from stepscope.reports.outline import outline
from stepscope.reports.sections.slowest import slowest
from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.finding import Evidence, Finding

SLOW = replace(TIMES, compute_ns=9_000_000)
OTHER = Finding("CLU005", "", "cluster", "high", "The recorded ranks wait for rank 5", "", 9, 0.1, 0.9, Evidence(), ())


def contents(parts, world=None, findings=()) -> Contents:
    lines = tuple(RankLine(rank, 0, "H100", world) for rank in parts.recordings)
    tables = {"slow_ranks": JOB_TABLES["slow_ranks"].run(parts)}
    return Contents(parts.recordings, (), lines, tables, diagnosis=Diagnosis(findings, asked=1))


def said(*args, **named):
    section = slowest(contents(*args, **named), 10)
    [line] = section.blocks
    return line, section.aside


def test_it_is_the_first_sentence_of_the_page_with_its_lateness_and_what_it_takes_longer() -> None:
    parts = job([[900_000] * 2, [100_000] * 2, [900_000] * 2], times={1: SLOW})
    assert outline(contents(parts)).sections[0] == slowest(contents(parts), 10)
    line, aside = said(parts, world=3)
    assert line.text == "rank 1 makes the others wait 800 µs per step: it computes 3.00 ms longer"
    assert (line.tone, line.detail, aside) == ("warning", "", "of 3 ranks")


def test_what_the_step_would_save_is_told_where_that_is_less_than_half_of_the_waiting() -> None:
    parts = job([[900_000] * 2, [100_000] * 2, [900_000] * 2], times={1: SLOW})
    sentences = {
        399_999: "wait 800 µs per step, and the step last 400 µs longer: it",
        400_000: "wait 800 µs per step: it",
    }
    for cost, words in sentences.items():
        line, _ = said(parts, findings=(replace(OTHER, late=(1,), cost_ns=cost),))
        assert words in line.text


def test_without_steps_nothing_is_per_step() -> None:
    parts = job([[900_000] * 2, [100_000] * 2, [900_000] * 2], times={1: SLOW})
    schema = TableSchema("coverage", "", (text("part", ""),))
    for one, words in ((parts, "wait 800 µs: it computes"), (job([[900_000] * 2] * 3), "1 % of the time or more")):
        report = contents(one)
        report.tables["coverage"] = Table.from_rows(schema, [("in use",)])
        [line] = slowest(report, 10).blocks
        assert words in line.text
        assert "step" not in line.text


def test_others_that_are_late_are_named_up_to_three() -> None:
    rows = [[900_000] * 2] * 7 + [[100_000 + rank] * 2 for rank in range(6)]
    line, _ = said(job(rows))
    assert line.text.startswith("rank 7 ")
    assert line.detail == "late as well: rank 8 (800 µs), rank 9 (800 µs), rank 10 (800 µs) and 2 more ranks"


def test_of_even_ranks_none_is_named() -> None:
    even = job([[900_000] * 2] * 3)
    line, aside = said(even, world=8)
    assert (line.tone, aside) == ("good", "of 3 of 8 ranks")
    line, aside = said(even, findings=(OTHER,))
    assert "wait for rank 5 (CLU005)" in line.text
    assert (line.tone, aside) == ("warning", "of 3 ranks at hand")


def test_of_ranks_that_were_not_looked_at_nothing_is_said() -> None:
    parts = job([[900_000] * 2] * 3)
    del parts.times[2]
    line, _ = said(parts)
    assert (line.text, line.tone) == ("none of the 2 ranks that were looked at makes the others wait", "plain")
    del parts.times[1]
    line, _ = said(parts)
    assert line.text == "which rank is slow can't be told of one"


def test_what_they_wait_for_instead_is_told_in_the_language() -> None:
    found = replace(OTHER, title="Stages of the pipeline wait for each other")
    with speaking("zh"):
        line, _ = said(job([[900_000] * 2] * 3), findings=(found,))
        assert "Stages" not in told(line.text)


def test_where_nothing_tells_that_is_said() -> None:
    parts = job([[900_000] * 2] * 3)
    parts.times = {rank: replace(times, waited_ns=None, held_ns=None) for rank, times in parts.times.items()}
    line, _ = said(parts)
    assert "can't be told" in line.text
    assert "all ranks" in line.detail


def test_one_rank_has_no_such_sentence() -> None:
    assert not slowest(contents(job([[900_000]])), 10).blocks
