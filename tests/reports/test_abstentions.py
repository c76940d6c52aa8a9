"""What is said of tables that could not be computed: what to record, once; nothing where nothing could be."""

from __future__ import annotations

import typing

import pytest

from stepscope.analyses.registry import Analysis
from stepscope.ingest.inputs import SOURCES
from stepscope.ingest.recognise import READERS
from stepscope.model.errors import MissingInputError
from stepscope.model.inputs import ABSENCES, Input
from stepscope.model.program import Program
from stepscope.model.recording import Recording
from stepscope.model.schema import Column, TableSchema
from stepscope.model.table import Table
from stepscope.model.trace import Trace
from stepscope.readers.kineto.inputs import CHROME_NAME
from stepscope.reports import build
from stepscope.reports.health import Abstention, abstention_lines
from stepscope.reports.hints import how_to_mark
from stepscope.reports.ranks.question import Question
from stepscope.reports.sections.health import missing
from support import Facts

TRAINING = Program("training", "pytorch", "cuda", "python", loader=True)


def lacking(
    table: str, needs: Input, reader: str, world_size: int | None = None, program: Program = TRAINING
) -> Abstention:
    recording = Recording("a", reader, world_size=world_size)
    return Abstention.lacking(table, MissingInputError.of(needs), (0, recording), program)


def messages(*abstentions: Abstention) -> list[tuple[str, str]]:
    return [(line.message, line.effect) for line in abstention_lines(abstentions)]


def test_every_reader_says_what_it_may_hold() -> None:
    assert set(SOURCES) == {reader.name for reader in READERS} | {CHROME_NAME}
    kinds = set(typing.get_args(Input))
    assert set(ABSENCES) == kinds
    # A program has compiled graphs or has none: no option records them, and nobody is told that they lack.
    recorded = kinds - {"static_graphs"}
    assert set().union(*(source.inputs for source in SOURCES.values())) == recorded  # else nobody could ever record it


def test_tables_that_lack_the_same_share_a_line() -> None:
    assert messages(
        lacking("operators", "operators", "kineto"),
        lacking("stacks", "stacks", "kineto"),
        lacking("modules", "operators", "kineto"),
    ) == [
        (
            "operators, modules were not computed: the recording has no operators",
            "record the host as well as the device (activities=[CPU, CUDA])",
        ),
        ("stacks was not computed: the recording has no Python stacks", "record with with_stack=True"),
    ]


@pytest.mark.parametrize(
    ("needs", "reader", "applies"),
    [
        ("device", "memsnapshot", False),
        ("history", "memsnapshot", True),
        ("snapshot", "nsight", False),
        ("allocations", "nsight", True),
        ("os_calls", "nsight", True),
        ("os_calls", "kineto", False),
        ("grids", "ascend", False),
        ("device", "kineto", True),
        ("device", "a reader of tomorrow", True),
    ],
)
def test_what_a_source_never_holds_is_not_asked_for(needs: Input, reader: str, applies: bool) -> None:
    assert lacking("table", needs, reader).applies == applies
    assert bool(messages(lacking("table", needs, reader))) == applies


@pytest.mark.parametrize(("world_size", "applies"), [(None, False), (1, False), (2, True)])
def test_a_job_of_one_rank_has_no_collectives_to_record(world_size: int | None, applies: bool) -> None:
    assert lacking("collectives", "collectives", "kineto", world_size).applies == applies


def test_the_page_says_it_once_and_the_json_says_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(needs: Input) -> typing.Callable[[Trace], Table]:
        def run(trace: Trace) -> Table:
            raise MissingInputError.of(needs)

        return run

    wanted: dict[str, Input] = {"a": "stacks", "b": "snapshot", "c": "stacks"}
    schemas = {name: TableSchema(name, "A table.", (Column("rank", "int32", "Rank."),)) for name in wanted}
    analyses = {name: Analysis(schemas[name], without(needs)) for name, needs in wanted.items()}
    monkeypatch.setattr(build, "analyses", lambda: analyses)
    facts = Facts()
    facts.step(1, 0, 100)
    monkeypatch.setitem(SOURCES, "facts", SOURCES["kineto"])  # type: ignore[arg-type]
    report = build.build_report(facts.trace())
    assert [line.message for line in report.health if line.code == "not-computed"] == [
        "a, c were not computed: the recording has no Python stacks"
    ]
    assert [block.text for block in missing(report, 10).blocks] == ["a, c: the recording has no Python stacks"]  # type: ignore[union-attr]
    said = {name: table["missing"] for name, table in report.to_json()["tables"].items()}
    assert [(one["needs"], one["applies"]) for one in said["b"]] == [("snapshot", False)]
    assert [(one["needs"], one["applies"], one["ranks"]) for one in said["c"]] == [("stacks", True, [0])]


@pytest.mark.parametrize(
    ("needs", "program", "hint"),
    [
        ("loader", Program("inference", "pytorch", "cuda", "python"), None),
        ("loader", Program(framework="native", platform="cuda", language="c++"), None),
        ("operators", Program(framework="native", platform="cuda", language="c++"), None),
        ("modules", Program(framework="native", platform="cuda", language="c++"),
         "record with --trace=cuda,nvtx and mark parts of the program with NVTX ranges (nvtxRangePush)"),
        ("calls", Program(framework="native", platform="cuda", language="c++"), "record with --trace=cuda"),
    ],
)  # fmt: skip
def test_nothing_is_said_of_what_the_program_can_not_have(needs: Input, program: Program, hint: str | None) -> None:
    one = lacking("a", needs, "nsight", program=program)
    assert (one.applies, one.hint if one.applies else None) == (hint is not None, hint)


def test_a_setting_that_was_on_is_not_advised() -> None:
    program = Program("training", "pytorch", "cuda", "python", recorded=frozenset({"record_shapes"}))
    hint = lacking("roofline", "shapes", "kineto", program=program).hint
    assert hint == "record_shapes was on: what it records did not occur while the profiler looked"
    hint = lacking("stacks", "stacks", "kineto", program=program).hint
    assert hint == "record with with_stack=True"


@pytest.mark.parametrize(
    ("program", "how"),
    [
        (Program("training", "pytorch", recorder="kineto"), "call prof.step() after each iteration"),
        (Program("serving", "pytorch", recorder="kineto"), ""),
        (Program("training", "pytorch", recorder="memsnapshot"), ""),
        (Program(framework="native", recorder="nsight"), "mark each iteration with an NVTX range"),
        (Program("training", "pytorch", recorder="ascend"), "call prof.step() after each iteration"),
    ],
)
def test_steps_are_marked_as_the_program_can(program: Program, how: str) -> None:
    assert how_to_mark(program) == how


def test_programs_of_npus_without_pytorch_mark_steps_by_ranges() -> None:
    assert "mstx" in how_to_mark(Program("training", recorder="ascend"))


def test_what_a_table_lacks_keeps_nothing_of_what_was_worked_on() -> None:
    def run(_: Trace) -> Table:
        raise MissingInputError("nothing of it")

    facts = Facts()
    facts.kernel("k", 0, 10)
    analysis = Analysis(TableSchema("lacking", "Never there.", (Column("one", "int64", "One."),)), run)
    trace = facts.trace()
    answer = Question.of(trace, None, False).ask(analysis)
    assert isinstance(answer, MissingInputError)
    assert answer.__traceback__ is None
